// Which of the compiled kernels this machine can run: chosen once, when the module is loaded.
#pragma once

#include <string>

#include "types.hpp"

namespace hn {

/// "base" or "v3" (x86-64 with AVX2, FMA and BMI): what is in use.
const char* instruction_set();
/// "base", "v3", or "" for the best there is; false where the machine cannot.
bool use_instruction_set(const std::string& name);
bool in_v3();

}  // namespace hn

// A family of kernels: `struct Table { ... }` of function pointers in hn, `const Table name` in each hn::<set>.
#if defined(HN_HAS_V3)
#define HN_FAMILY(Table, name)                                             \
    namespace hn {                                                         \
    namespace base {                                                       \
    extern const Table name;                                               \
    }                                                                      \
    namespace v3 {                                                         \
    extern const Table name;                                               \
    }                                                                      \
    inline const Table& name() { return in_v3() ? v3::name : base::name; } \
    }
#else
#define HN_FAMILY(Table, name)                        \
    namespace hn {                                    \
    namespace base {                                  \
    extern const Table name;                          \
    }                                                 \
    inline const Table& name() { return base::name; } \
    }
#endif

// Room to work in: kept by the thread, made larger when it must be, never smaller.
namespace hn {

/// `count` doubles, aligned to 64 bytes, not cleared, good until the next call on this thread; null when there is no memory.
double* workspace(i64 count);

}  // namespace hn
