#include "dispatch.hpp"

#include <cstdlib>
#include <new>

#if defined(HN_HAS_V3)
#include <cpuid.h>
#endif

namespace hn {
namespace {

/// True if the processor has all features that kernels_v3 is compiled for (CMakeLists.txt), and the operating
/// system saves the wide registers.
bool machine_has_v3() {
#if defined(HN_HAS_V3)
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
    const bool fma = c >> 12 & 1, saves = c >> 27 & 1, avx = c >> 28 & 1, movbe = c >> 22 & 1,
               popcnt = c >> 23 & 1, f16c = c >> 29 & 1;
    if (!(fma && saves && avx && movbe && popcnt && f16c)) return false;
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    const bool bmi1 = b >> 3 & 1, avx2 = b >> 5 & 1, bmi2 = b >> 8 & 1;
    if (!(bmi1 && avx2 && bmi2)) return false;
    return __get_cpuid(0x80000001u, &a, &b, &c, &d) && (c >> 5 & 1);  // lzcnt
#else
    return false;
#endif
}

bool chosen_at_load() {
    const char* name = std::getenv("HANNAN_ISA");
    return !(name && std::string(name) == "base") && machine_has_v3();
}

bool v3_in_use = chosen_at_load();

}  // namespace

bool in_v3() { return v3_in_use; }
const char* instruction_set() { return v3_in_use ? "v3" : "base"; }
bool use_instruction_set(const std::string& name) {
    if (name == "v3" && !machine_has_v3()) return false;
    if (name != "" && name != "v3" && name != "base") return false;
    v3_in_use = name != "base" && machine_has_v3();
    return true;
}

namespace {

struct Kept {
    double* numbers = nullptr;
    i64 count = 0;
    ~Kept() { ::operator delete(numbers, std::align_val_t(64), std::nothrow); }
};
thread_local Kept kept;

}  // namespace

double* workspace(i64 count) {
    if (count > kept.count) {
        ::operator delete(kept.numbers, std::align_val_t(64), std::nothrow);
        kept.count = 0;
        kept.numbers = static_cast<double*>(
            ::operator new(std::size_t(count) * sizeof(double), std::align_val_t(64), std::nothrow));
        if (kept.numbers) kept.count = count;
    }
    return kept.numbers;
}

}  // namespace hn
