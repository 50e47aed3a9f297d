// Arrays as Python hands them over: contiguous float64 (or the type said), checked here, once; below, plain pointers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>

#include "../types.hpp"

namespace hn {

namespace nb = nanobind;
using namespace nb::literals;

/// Read-only and writable arrays of one axis; of two.
template <class T> using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Table2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using OutTable2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// A new array that Python owns, zeros.
template <class T>
struct Fresh {
    T* data;
    nb::capsule owner;
    std::size_t rows, columns;

    explicit Fresh(std::size_t rows, std::size_t columns = 0) : rows(rows), columns(columns) {
        std::unique_ptr<T[]> made(new T[rows * (columns ? columns : 1) + 1]());
        data = made.get();
        owner = nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
        made.release();
    }
    nb::object give() const {
        if (columns == 0) return nb::cast(nb::ndarray<nb::numpy, T>(data, {rows}, owner));
        return nb::cast(nb::ndarray<nb::numpy, T>(data, {rows, columns}, owner));
    }
};

/// A copy of numbers as an array of Python's.
template <class T>
nb::object array_of(const T* from, i64 count) {
    Fresh<T> made{std::size_t(count)};
    for (i64 k = 0; k < count; ++k) made.data[k] = from[k];
    return made.give();
}

/// A refusal is written once, not wherever a rule is: two hundred of them are a good part of the text.
[[noreturn, gnu::noinline, gnu::cold]] inline void refuse(const char* rule) { throw nb::value_error(rule); }

/// A rule of the engine's own that its caller broke: a mistake in the Python beside it, not in a user's input.
inline void require(bool holds, const char* rule) {
    if (!holds) refuse(rule);
}

// One caller at a time: a player, a leader or a fleet is not guarded by a lock. While it is at work the interpreter's may be
// let go, or a law of Python's own may be asked, which may call back: whoever comes then is refused.

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

}  // namespace hn
