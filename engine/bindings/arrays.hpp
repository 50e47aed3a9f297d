// Arrays of Python: contiguous, with the stated type, checked once; the engine uses plain pointers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <span>

#include "../players/guards.hpp"

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

template <class T>
std::span<const T> span_of(const In<T>& numbers) {
    return {numbers.data(), numbers.size()};
}

}  // namespace hn
