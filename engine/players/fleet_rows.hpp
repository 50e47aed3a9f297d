// Rows of a fleet: vectors in large or small pages, rows by learner number, and a snapshot of all rows.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "../players.hpp"
#include "guards.hpp"

namespace hn {

inline constexpr std::size_t huge_page = std::size_t(1) << 21;

/// Allocator for memory that is accessed at random: in pages of 2 MiB if the system supports them, which saves lookups of
/// addresses. With Wide = false, for memory that is written in small parts under time pressure: never in large pages,
/// because the system clears a whole page first.
template <class T, bool Wide = true>
struct Huge {
    using value_type = T;
    template <class U> struct rebind {
        using other = Huge<U, Wide>;
    };
    Huge() = default;
    template <class U> Huge(const Huge<U, Wide>&) {}
    static std::size_t aligned(std::size_t bytes) { return bytes >= huge_page ? huge_page : 64; }

    T* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        void* made = ::operator new(bytes, std::align_val_t(aligned(bytes)));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (bytes >= huge_page)
            madvise(made, bytes & ~(huge_page - 1), Wide ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
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

// Rows by learner number, in chunks. A chunk is freed when all its learners are removed. Numbers are never reused.

inline RowPlan plan_of(const Setup& s, bool sleeps, bool diagnosed) {
    RowPlan plan;
    plan.diagnosed = diagnosed;
    const i64 n = plan.n = s.n;
    const bool series = s.path == Path::half || s.path == Path::barrier;
    const bool entropic = s.path == Path::entropy || s.path == Path::entropy_one;
    plan.compact = (series || entropic) && !s.log_prior && !diagnosed;
    if (plan.compact) {
        plan.state = n;
        plan.own = n + (series ? 4 : s.path == Path::entropy_one ? 2 : 1);
        plan.stream = plan.own + 1;
        plan.counts = plan.stream + 4;
    } else {
        plan.weights = n;
        plan.memory = 2 * n;
        plan.numbers = 2 * n + s.memory_places();
        plan.own = plan.numbers + i64(offsetof(RunNumbers, own) / sizeof(double));
        plan.stream = plan.numbers + i64(offsetof(RunNumbers, stream) / sizeof(double));
        plan.counts = plan.numbers + i64(sizeof(RunNumbers) / sizeof(double));
    }
    plan.stride = plan.counts + 2;
    plan.mark_words = sleeps || s.estimator == Estimator::reduced_variance ? (n + 63) / 64 : 0;
    return plan;
}

class RowsCopy;

class Rows {
    /// Many pages of 2 MiB, so that few learners are outside of one; memory is allocated when learners are
    /// created. The first chunk has space for 64 learners, because a store has a fleet per learner, and most
    /// fleets stay small.
    struct Chunk {
        HugeVector<double> numbers;  // reserved, and written when a learner is created
        HugeVector<u64> keys;        // likewise
        std::vector<u64> alive;
        i64 living = 0, room = 0;
        Chunk(i64 size, i64 stride, i64 room_at_first) : alive(std::size_t(size / 64)) {
            reserve(room_at_first, stride);
        }
        /// Move the rows to memory for `more` learners.
        void reserve(i64 more, i64 stride) {
            HugeVector<double> rows;
            HugeVector<u64> names;
            rows.reserve(std::size_t(more * stride + 4));  // groups of four are read past the last row
            names.reserve(std::size_t(more));
            if (room)
                __builtin_memcpy(rows.data(), numbers.data(), std::size_t(room * stride) * sizeof(double));
            if (room) __builtin_memcpy(names.data(), keys.data(), std::size_t(room) * sizeof(u64));
            numbers.swap(rows);
            keys.swap(names);
            room = more;
        }
    };
    std::vector<std::unique_ptr<Chunk>> chunks_;
    std::vector<RowsCopy*> copies_;  // snapshots in progress
    std::vector<double*> numbers_;   // start of each chunk, which saves an indirection
    int bits_ = 16;                  // a chunk has 2^bits learners
    i64 stride_, size_ = 65536, alive_ = 0, made_ = 0;
    u64 born_ = 0;

    std::size_t chunk_of(u64 number) const { return std::size_t(number >> bits_); }
    std::size_t within(u64 number) const { return std::size_t(number & u64(size_ - 1)); }
    /// Capacity of a chunk that needs the place `at`: doubled, and the whole chunk from 2 MiB on.
    i64 grown(i64 room, i64 at) const {
        while (room <= at) room *= 2;
        return room * stride_ * i64(sizeof(double)) >= i64(huge_page) ? size_ : std::min(room, size_);
    }

public:
    explicit Rows(i64 stride) : stride_(stride) {
        while (size_ > 64 && size_ * stride * i64(sizeof(double)) > i64(64 * huge_page)) {
            size_ /= 2;
            --bits_;
        }
    }

    i64 size() const { return alive_; }
    u64 born() const { return born_; }
    /// Memory in use: the last chunk counts up to its last learner.
    i64 bytes() const {
        const i64 unborn =
            made_ * size_ > 0 && within(born_) && chunks_.back() ? size_ - i64(within(born_)) : 0;
        return (made_ * size_ - unborn) * stride_ * i64(sizeof(double));
    }
    i64 key_bytes() const {
        i64 room = 0;
        for (const std::unique_ptr<Chunk>& chunk : chunks_) room += chunk ? chunk->room : 0;
        return made_ * (i64(sizeof(Chunk)) + size_ / 8) + room * i64(sizeof(u64)) +
               i64(chunks_.capacity()) * 16;
    }

    bool has(u64 number) const {
        if (number >= born_) return false;
        const std::unique_ptr<Chunk>& chunk = chunks_[chunk_of(number)];
        return chunk && (chunk->alive[within(number) / 64] >> (number % 64) & 1);
    }
    /// Row of an existing learner.
    double* row(u64 number) const { return numbers_[chunk_of(number)] + i64(within(number)) * stride_; }
    /// Row of an existing learner for writing. Snapshots in progress copy it first.
    double* change(u64 number) {
        if (__builtin_expect(!copies_.empty(), 0)) changes(number);
        return row(number);
    }
    void changes(u64 number);
    void remember(RowsCopy* copy) { copies_.push_back(copy); }
    void forget(RowsCopy* copy) { std::erase(copies_, copy); }
    i64 chunk() const { return size_; }
    /// Learners that exist, 64 numbers per word, up to the last number that was given.
    std::vector<u64> alive() const {
        std::vector<u64> found;
        for (std::size_t k = 0; k < chunks_.size(); ++k) {
            if (chunks_[k]) found.insert(found.end(), chunks_[k]->alive.begin(), chunks_[k]->alive.end());
            else found.resize((k + 1) * std::size_t(size_ / 64));
        }
        found.resize(std::min(found.size(), std::size_t((born_ + 63) / 64)));
        return found;
    }
    u64 key(u64 number) const { return chunks_[chunk_of(number)]->keys.data()[within(number)]; }

    /// Add a learner with the next number, or with a later one from a file. The row is not initialized.
    u64 add(u64 key) { return add(key, born_); }
    u64 add(u64 key, u64 number) {
        const std::size_t k = chunk_of(number);
        if (chunks_.size() <= k) {
            numbers_.resize(k + 1);
            chunks_.resize(k + 1);
        }
        if (!chunks_[k]) {
            chunks_[k] = std::make_unique<Chunk>(size_, stride_, k == 0 ? std::min<i64>(size_, 64) : size_);
            ++made_;
            numbers_[k] = chunks_[k]->numbers.data();
        }
        Chunk& chunk = *chunks_[k];
        if (i64(within(number)) >= chunk.room) {
            chunk.reserve(grown(chunk.room, i64(within(number))), stride_);
            numbers_[k] = chunk.numbers.data();
        }
        chunk.keys.data()[within(number)] = key;
        chunk.alive[within(number) / 64] |= u64(1) << (number % 64);
        ++chunk.living;
        ++alive_;
        born_ = number + 1;
        return number;
    }
    void remove(u64 number) {
        const std::size_t k = chunk_of(number);
        Chunk& chunk = *chunks_[k];
        chunk.alive[within(number) / 64] &= ~(u64(1) << (number % 64));
        --chunk.living;
        --alive_;
        // The last chunk has unused numbers.
        if (chunk.living == 0 && !copies_.empty())
            for (u64 j = 0; j < u64(size_); j += 64) changes(u64(k) * u64(size_) + j);
        if (chunk.living == 0 && born_ >= u64(k + 1) * u64(size_)) {
            chunks_[k].reset();
            numbers_[k] = nullptr;
            --made_;
        }
    }
    /// Numbers below this one have been used.
    void born_up_to(u64 number) {
        if (number <= born_) return;
        const std::size_t k = chunk_of(number - 1) + 1;
        if (chunks_.size() < k) {
            numbers_.resize(k);
            chunks_.resize(k);
        }
        born_ = number;
    }
    template <class Visit> void each(Visit visit) const {
        for (std::size_t k = 0; k < chunks_.size(); ++k)
            if (chunks_[k])
                for (std::size_t w = 0; w < chunks_[k]->alive.size(); ++w)
                    for (u64 left = chunks_[k]->alive[w]; left; left &= left - 1)
                        visit(u64(k) * u64(size_) + u64(w) * 64 + u64(__builtin_ctzll(left)));
    }
};

// Snapshot of all rows of a fleet, copied step by step while the fleet continues.
//
// Rows are in pages of at least 64 learners. A page is copied before its first change, the other pages by expose(). All
// copies are made under the interpreter's lock.

class RowsCopy {
    static constexpr i64 page_bytes = 1 << 14;
    Rows& rows_;
    i64 stride_;
    int bits_ = 6;                     // a page has 2^bits learners
    std::vector<u64> alive_;           // existing learners, 64 per word
    std::vector<std::size_t> begins_;  // number of learners before each page, and in total
    std::vector<u8> done_;
    std::size_t next_ = 0, left_;
    SmallPagedVector<double>
        numbers_;  // reserved and written page by page, because clearing all of it would block
    SmallPagedVector<u64> keys_;

    std::size_t words() const { return std::size_t(1) << (bits_ - 6); }
    /// (number, place in the copy) of the learners of a page.
    template <class Visit> void each_of(std::size_t page, Visit visit) const {
        std::size_t at = begins_[page];
        for (std::size_t w = page * words(); w < alive_.size() && w < (page + 1) * words(); ++w)
            for (u64 left = alive_[w]; left; left &= left - 1)
                visit(u64(w) * 64 + u64(__builtin_ctzll(left)), at++);
    }
    void copy(std::size_t page) {
        each_of(page, [&](u64 number, std::size_t at) {
            __builtin_memcpy(numbers_.data() + at * std::size_t(stride_), rows_.row(number),
                             std::size_t(stride_) * sizeof(double));
            keys_.data()[at] = rows_.key(number);
        });
        done_[page] = 1;
        if (--left_ == 0) rows_.forget(this);
    }

public:
    RowsCopy(Rows& rows, i64 stride) : rows_(rows), stride_(stride), alive_(rows.alive()) {
        while (i64(2) << bits_ <= rows.chunk() &&
               (i64(2) << bits_) * stride * i64(sizeof(double)) <= page_bytes)
            ++bits_;
        const std::size_t pages = (alive_.size() + words() - 1) / words();
        begins_.assign(1, 0);
        for (std::size_t page = 0; page < pages; ++page) {
            std::size_t count = begins_.back();
            for (std::size_t w = page * words(); w < alive_.size() && w < (page + 1) * words(); ++w)
                count += std::size_t(__builtin_popcountll(alive_[w]));
            begins_.push_back(count);
        }
        numbers_.reserve(begins_.back() * std::size_t(stride));
        keys_.reserve(begins_.back());
        done_.resize(pages);
        left_ = pages;
        if (left_) rows_.remember(this);
    }
    RowsCopy(const RowsCopy&) = delete;
    ~RowsCopy() {
        if (left_) rows_.forget(this);
    }

    /// Copy the page of a learner that is about to change or to be removed.
    void before(u64 number) {
        const std::size_t page = std::size_t(number >> bits_);
        if (page < done_.size() && !done_[page]) copy(page);
    }
    /// Copy more pages. Returns true if pages are left.
    bool go_on(std::size_t pages) {
        for (; left_ && pages > 0; ++next_)
            if (!done_[next_]) {
                copy(next_);
                --pages;
            }
        return left_ > 0;
    }
    std::size_t size() const { return begins_.back(); }
    const double* numbers() const { return numbers_.data(); }
    std::vector<u64> keys() const { return std::vector<u64>(keys_.data(), keys_.data() + size()); }
    /// The numbers of the learners, ascending.
    std::vector<u64> learners() const {
        std::vector<u64> found(size());
        for (std::size_t page = 0; page + 1 < begins_.size(); ++page)
            each_of(page, [&](u64 number, std::size_t at) { found[at] = number; });
        return found;
    }
};

inline void Rows::changes(u64 number) {
    const std::vector<RowsCopy*> copies = copies_;  // a completed snapshot removes itself
    for (RowsCopy* copy : copies) copy->before(number);
}

}  // namespace hn
