// Memory that is walked at random: in pages of 2 MiB where the system has them, so that no address has to be looked up
// twice. Elsewhere it is ordinary memory. And memory that is written a little here and there by somebody who cannot wait:
// never in such pages, each of which would be cleared first.
#pragma once

#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hn {

inline constexpr std::size_t huge_page = std::size_t(1) << 21;

template <class T, bool Wide = true>
struct Huge {
    using value_type = T;
    template <class U> struct rebind { using other = Huge<U, Wide>; };
    Huge() = default;
    template <class U> Huge(const Huge<U, Wide>&) {}
    static std::size_t aligned(std::size_t bytes) { return bytes >= huge_page ? huge_page : 64; }

    T* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        void* made = ::operator new(bytes, std::align_val_t(aligned(bytes)));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (bytes >= huge_page) madvise(made, bytes & ~(huge_page - 1), Wide ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
        return static_cast<T*>(made);
    }
    void deallocate(T* made, std::size_t count) noexcept {
        ::operator delete(made, std::align_val_t(aligned(count * sizeof(T))));
    }
    bool operator==(const Huge&) const = default;
};

template <class T> using HugeVector = std::vector<T, Huge<T>>;
template <class T> using SmallPagedVector = std::vector<T, Huge<T, false>>;

}  // namespace hn
