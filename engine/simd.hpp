// Vectors of four doubles, by the vector extensions of GCC and Clang, for every instruction set.
//
// Code that is compiled once per instruction set (kernels/*.cpp) is in hn::HN_ISA and calls only builtins of the standard
// library: otherwise the linker could select AVX2 code for a machine without AVX2.
#pragma once

#include "types.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#ifndef HN_ISA
#error "compile with -DHN_ISA=<name of the instruction set>"
#endif
#define HN_KNOWN(fact)                        \
    do {                                      \
        if (!(fact)) __builtin_unreachable(); \
    } while (false)  // other cases are not compiled
#define HN_COLD inline __attribute__((noinline, cold))
#define HN_APART inline __attribute__((noinline))  // rare in a long run, frequent in the first rounds of many runs

namespace hn::HN_ISA {

typedef double f64x4 __attribute__((vector_size(32)));
typedef i64 i64x4 __attribute__((vector_size(32)));
typedef u64 u64x4 __attribute__((vector_size(32)));
typedef double loose_f64x4 __attribute__((vector_size(32), aligned(8), may_alias));

inline constexpr double infinity = __builtin_inf();

/// x y + z, rounded once, by the machine if it supports this, otherwise by the C library, with the same bits.
HN_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
#if defined(__FMA__)
HN_INLINE f64x4 fma(f64x4 x, f64x4 y, f64x4 z) {
    return (f64x4)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)z);
}
#else
HN_APART f64x4 fma(f64x4 x, f64x4 y,
                   // Four calls, compiled once, because inlining them everywhere would take long to compile
                   f64x4 z) {
    return f64x4{fma(x[0], y[0], z[0]), fma(x[1], y[1], z[1]), fma(x[2], y[2], z[2]), fma(x[3], y[3], z[3])};
}
#endif
HN_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
HN_INLINE f64x4 sqrt(f64x4 x) {
#if defined(__AVX2__)
    return (f64x4)_mm256_sqrt_pd((__m256d)x);
#else
    return f64x4{sqrt(x[0]), sqrt(x[1]), sqrt(x[2]), sqrt(x[3])};
#endif
}
HN_INLINE double abs(double x) { return __builtin_fabs(x); }
HN_INLINE f64x4 abs(f64x4 x) { return (f64x4)((i64x4)x & 0x7fffffffffffffff); }

HN_INLINE f64x4 load4(const double* p) { return *reinterpret_cast<const loose_f64x4*>(p); }
HN_INLINE void store4(double* p, f64x4 x) { *reinterpret_cast<loose_f64x4*>(p) = x; }
HN_INLINE f64x4 splat(double x) { return f64x4{x, x, x, x}; }
HN_INLINE i64x4 splat(i64 x) { return i64x4{x, x, x, x}; }
HN_INLINE i64x4 lanes(i64 first) { return i64x4{0, 1, 2, 3} + first; }

/// x where the mask is set and 0 elsewhere; the reverse.
HN_INLINE f64x4 only(i64x4 mask, f64x4 x) { return (f64x4)(mask & (i64x4)x); }
HN_INLINE f64x4 except(i64x4 mask, f64x4 x) { return (f64x4)(~mask & (i64x4)x); }
HN_INLINE f64x4 select(i64x4 mask, f64x4 x, f64x4 y) { return mask ? x : y; }
HN_INLINE double select(bool mask, double x, double y) { return mask ? x : y; }
/// Minimum and maximum; the second argument if one of them is NaN.
template <class V> HN_INLINE V min(V x, V y) { return x < y ? x : y; }
template <class V> HN_INLINE V max(V x, V y) { return x > y ? x : y; }

/// Force the computation of x here, because compilers would postpone a value that a later round waits for.
HN_INLINE void soon(double& x) {
#if defined(__x86_64__)
    asm volatile("" : "+x"(x));
#elif defined(__aarch64__)
    asm volatile("" : "+w"(x));
#else
    (void)x;
#endif
}

/// Signs of the lanes of a mask, as four bits.
HN_INLINE int bits(i64x4 mask) {
#if defined(__AVX2__)
    return _mm256_movemask_pd((__m256d)mask);
#else
    return int(mask[0] & 1) | int(mask[1] & 2) | int(mask[2] & 4) | int(mask[3] & 8);
#endif
}

/// (x0 + x2) + (x1 + x3): the order of every sum of four lanes.
HN_INLINE double fold(f64x4 x) { return (x[0] + x[2]) + (x[1] + x[3]); }
HN_INLINE double fold_product(f64x4 x) { return (x[0] * x[2]) * (x[1] * x[3]); }
HN_INLINE double fold_min(f64x4 x) { return min(min(x[0], x[2]), min(x[1], x[3])); }
HN_INLINE double fold_max(f64x4 x) { return max(max(x[0], x[2]), max(x[1], x[3])); }
/// Minimum and maximum of n numbers.
struct Extent {
    double min, max;
};
inline Extent extent_of(const double* x, i64 n) {
    f64x4 low = splat(x[0]), high = low;
    i64 j = 0;
    for (; j + 4 <= n; j += 4) {
        low = min(load4(x + j), low);
        high = max(load4(x + j), high);
    }
    Extent found{fold_min(low), fold_max(high)};
    for (; j < n; ++j) found = {min(x[j], found.min), max(x[j], found.max)};
    return found;
}
/// Fold four vectors simultaneously, with the same bits.
HN_INLINE f64x4 fold_four(f64x4 a, f64x4 b, f64x4 c, f64x4 d) {
    const f64x4 ab = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
    const f64x4 cd = __builtin_shufflevector(c, d, 0, 1, 4, 5) + __builtin_shufflevector(c, d, 2, 3, 6, 7);
    return __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
}
/// x_0 + ... + x_15, folded in halves; and the same for four groups of sixteen.
HN_INLINE f64x4 quarters(const double* p) {
    return (load4(p) + load4(p + 8)) + (load4(p + 4) + load4(p + 12));
}
HN_INLINE double sum16(const double* p) { return fold(quarters(p)); }
HN_INLINE f64x4 sum16_of_four(const double* p) {
    return fold_four(quarters(p), quarters(p + 16), quarters(p + 32), quarters(p + 48));
}

/// Lane j: base + x_0 + ... + x_j, as base + ((x_j + x_j-1) + (x_j-2 + x_j-3)). `base` becomes the last of
/// them by a separate addition, so that the next four sums wait for one number instead of a vector.
HN_INLINE f64x4 partial_sums(double& base, f64x4 x) {
    const f64x4 zero{};
    x += __builtin_shufflevector(x, zero, 4, 0, 1, 2);
    x += __builtin_shufflevector(x, zero, 4, 4, 0, 1);
    const f64x4 sums = splat(base) + x;
    base += x[3];
    return sums;
}

}  // namespace hn::HN_ISA
