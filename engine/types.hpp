// Names of numbers, and what a step reports.
#pragma once

#include <cstddef>
#include <cstdint>

// Whatever is compiled once an instruction set and is not in its namespace must be inlined: else one copy, perhaps of AVX2,
// would serve all. engine/tools/leaks.py looks. Where size counts for more, a copy of the base set may serve all.
#ifdef HN_SMALL
#define HN_INLINE inline
#else
#define HN_INLINE inline __attribute__((always_inline))
#endif
#define HN_WITHIN __attribute__((always_inline))  // a lambda that is not to be called

namespace hn {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// What a step reports. Nothing has moved after a bad loss; after a failure the run is over.
enum class Status : int { fine, bad_loss, failed };

HN_INLINE constexpr i64 in_fours(i64 n) { return (n + 3) & ~i64(3); }

}  // namespace hn
