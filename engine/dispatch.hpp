// Choice of the instruction set, made when the module is loaded.
#pragma once

#include <string>

#include "types.hpp"

namespace hn {

/// Instruction set in use: "base" or "v3" (x86-64 with AVX2, FMA and BMI).
const char* instruction_set();
/// Select "base", "v3", or "" for the best available set. Returns false if this machine does not support it.
bool use_instruction_set(const std::string& name);
bool in_v3();

}  // namespace hn

// A family of kernels is a struct of function pointers in hn, with one constant per instruction set in hn::<set>.
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

// Working memory of a thread. It grows on demand and never shrinks.
namespace hn {

/// Return `count` uninitialized doubles, aligned to 64 bytes and valid until the next call on this thread; null if out of
/// memory.
double* workspace(i64 count);

}  // namespace hn
