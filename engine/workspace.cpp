#include "workspace.hpp"

#include <cstdlib>
#include <new>

namespace hn {
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
