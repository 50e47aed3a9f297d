// Setup of a learner with the arrays that it points to, as a Python object.
#pragma once

#include <new>
#include <utility>
#include <vector>

#include "../potentials.hpp"
#include "../setup.hpp"
#include "arrays.hpp"

namespace hn {

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

struct Description {
    Setup setup;
    std::vector<double> prior, grid;
    nb::object law;  // callable (L, scale, valued) -> (w, value) of a smoothing that is implemented in Python
    // Callable (action, p, L, scale, draw) -> (weight, baselines or None) of a user-defined estimator
    nb::object estimate;
    nb::object raised;  // exception that it raised, if any
    nb::object table;   // keeps a tabulated law alive
};

/// tp_traverse of objects with a setup: a user-defined law may refer to its player, so the garbage collector
/// must see it.
template <class Holder>
int visit_setup_of(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<Holder>(self)->description.ptr());
    return 0;
}

/// Re-raise the exception of a user-defined smoothing, if a step failed because of it.
void raise_if_foreign(Description& d);

Words words_at(const u64* w);

// Tabulated law as a Python object: its numbers, and the struct that points to them.

struct HeldTable {
    LawTable table;
    std::vector<double> points, w, dw;
};

}  // namespace hn
