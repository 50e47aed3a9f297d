// Integer types, and the status of a step.
#pragma once

#include <cstddef>
#include <cstdint>

// Functions that are compiled once per instruction set, outside its namespace, must be inlined: otherwise the linker keeps
// one copy, perhaps with AVX2, for all sets. engine/tools/leaks.py checks this. HN_SMALL allows copies in the base set.
#ifdef HN_SMALL
#define HN_INLINE inline
#else
#define HN_INLINE inline __attribute__((always_inline))
#endif
#define HN_WITHIN __attribute__((always_inline))  // for lambdas that must be inlined

namespace hn {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Status of a step. After bad_loss the state is unchanged; after failed the run cannot continue.
enum class Status : int { fine, bad_loss, failed };

HN_INLINE constexpr i64 in_fours(i64 n) { return (n + 3) & ~i64(3); }

}  // namespace hn
