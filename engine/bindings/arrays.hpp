// Arrays of Python: contiguous, with the stated type, checked once; the engine uses plain pointers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>

#include "../types.hpp"

namespace hn {

namespace nb = nanobind;
using namespace nb::literals;

/// Read-only and writable arrays with one axis and with two.
template <class T> using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Table2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using OutTable2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// New array of zeros that Python owns.
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

/// Copy numbers to a new array that Python owns.
template <class T>
nb::object array_of(const T* from, i64 count) {
    Fresh<T> made{std::size_t(count)};
    for (i64 k = 0; k < count; ++k) made.data[k] = from[k];
    return made.give();
}

/// Out of line, because two hundred inlined copies would be a large part of the code.
[[noreturn, gnu::noinline, gnu::cold]] inline void refuse(const char* rule) { throw nb::value_error(rule); }

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

}  // namespace hn
