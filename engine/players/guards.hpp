// Guards of players and fleets: checked arguments, one caller at a time, and aligned memory for runs.
#pragma once

#include <new>
#include <stdexcept>
#include <utility>

#include "../setup.hpp"

namespace hn {

/// Out of line, because two hundred inlined copies would be a large part of the code.
[[noreturn, gnu::noinline, gnu::cold]] inline void refuse(const char* rule) { throw std::invalid_argument(rule); }

/// Check an argument of the bindings. A violation is an error in the Python code of the package, not in user input.
inline void require(bool holds, const char* rule) {
    if (!holds) refuse(rule);
}

// One caller at a time: players, leaders and fleets have no lock. While one of them runs, the interpreter's lock may be
// released, or a user-defined distribution may call back; the second caller gets an error.

class Busy {
    bool& busy_;

public:
    Busy(bool& busy, const char* rule) : busy_(busy) {
        require(!busy, rule);
        busy = true;
    }
    Busy(const Busy&) = delete;
    ~Busy() { busy_ = false; }
};

/// The smoothing of a learner has no solution at its losses, or a user-defined one has raised an exception.
struct Unsolved : std::runtime_error {
    void* asked;  // the data of a user-defined smoothing
    explicit Unsolved(const Setup& s)
        : std::runtime_error("the smoothing has no solution at these losses"),
          asked(s.smoothing == Smoothing::foreign ? s.foreign.self : nullptr) {}
};

/// Memory for runs: aligned, freed with its owner.
class Room {
    double* numbers_ = nullptr;

public:
    explicit Room(i64 count = 0) {
        if (count > 0)
            numbers_ = static_cast<double*>(
                ::operator new(std::size_t(count) * sizeof(double), std::align_val_t(64)));
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    Room(Room&& other) noexcept : numbers_(other.numbers_) { other.numbers_ = nullptr; }
    Room& operator=(Room&& other) noexcept {
        std::swap(numbers_, other.numbers_);
        return *this;
    }
    ~Room() { ::operator delete(numbers_, std::align_val_t(64)); }
    double* at(i64 k) const { return numbers_ + k; }
};

/// Number of doubles per run, rounded up so that the next run is aligned too.
inline i64 aligned_room(const Setup& s) { return (s.room() + 7) & ~i64(7); }

}  // namespace hn
