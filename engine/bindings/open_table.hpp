// Decisions that wait for their losses, by ticket: the learner's number, and its round below it.
//
// Open addressing with linear probing, at most 85 in 100 places taken: 32 bytes a place, and 8 for every 64 arms where a
// decision has baselines or sleepers. No object of Python's is among them, so that no collector walks them.
#pragma once

#include "../types.hpp"
#include "huge.hpp"

namespace hn {

inline u64 ticket_of(u32 number, u32 round) { return u64(number) << 32 | round; }

struct OpenDecision {
    u64 ticket = 0;  // never 0 where there is one: rounds begin at 1
    double weight = 0.0, probability = 0.0;
    u32 arm = 0;
    std::uint16_t origin = 0;  // which of the fleet's names it was drawn under
    u8 slept = 0, marked = 0;  // marked: seen in the batch that is being checked
};
static_assert(sizeof(OpenDecision) == 32);

class OpenTable {
    HugeVector<OpenDecision> entries_;
    HugeVector<u64> marks_;
    i64 words_, count_ = 0;
    int shift_;

    std::size_t home(u64 ticket) const { return std::size_t(ticket * 0x9e3779b97f4a7c15u >> shift_); }
    std::size_t next(std::size_t at) const { return (at + 1) & (entries_.size() - 1); }
    void move(std::size_t to, std::size_t from) {
        entries_[to] = entries_[from];
        for (i64 w = 0; w < words_; ++w) marks_[to * std::size_t(words_) + std::size_t(w)] = marks_[from * std::size_t(words_) + std::size_t(w)];
    }

public:
    explicit OpenTable(i64 words = 0) : entries_(64), marks_(std::size_t(64 * words)), words_(words), shift_(64 - 6) {}

    i64 size() const { return count_; }
    i64 bytes() const { return i64(entries_.capacity() * sizeof(OpenDecision) + marks_.capacity() * sizeof(u64)); }
    void fetch(u64 ticket) const { __builtin_prefetch(&entries_[home(ticket)]); }
    /// The place of an open decision, or -1.
    i64 find(u64 ticket) const {
        if (ticket == 0) return -1;
        for (std::size_t at = home(ticket); entries_[at].ticket; at = next(at))
            if (entries_[at].ticket == ticket) return i64(at);
        return -1;
    }
    OpenDecision& at(i64 place) { return entries_[std::size_t(place)]; }
    u64* marks(i64 place) { return marks_.data() + place * words_; }
    /// Room for so many more: then nothing is allocated until they are there.
    void reserve(i64 more) {
        std::size_t size = entries_.size();
        while (double(count_ + more) > 0.85 * double(size)) size *= 2;
        if (size == entries_.size()) return;
        OpenTable grown(words_, size);
        for (std::size_t k = 0; k < entries_.size(); ++k)
            if (entries_[k].ticket) {
                const i64 to = grown.add(entries_[k].ticket);
                grown.at(to) = entries_[k];
                for (i64 w = 0; w < words_; ++w) grown.marks(to)[w] = marks(i64(k))[w];
            }
        *this = std::move(grown);
    }
    /// A place for a ticket that is not there; room was reserved.
    i64 add(u64 ticket) {
        std::size_t at = home(ticket);
        while (entries_[at].ticket) at = next(at);
        entries_[at].ticket = ticket;
        ++count_;
        return i64(at);
    }
    /// Those behind it move up, so that no search ends too early.
    void remove(i64 place) {
        --count_;
        const std::size_t mask = entries_.size() - 1;
        for (std::size_t hole = std::size_t(place), k = next(hole);; k = next(k)) {
            if (!entries_[k].ticket) {
                entries_[hole] = OpenDecision{};
                return;
            }
            if (((k - home(entries_[k].ticket)) & mask) >= ((k - hole) & mask)) move(hole, k), hole = k;
        }
    }
    template <class Visit> void each(Visit visit) {
        for (std::size_t k = 0; k < entries_.size(); ++k)
            if (entries_[k].ticket) visit(entries_[k], marks(i64(k)));
    }

    template <class Visit> void each_place(Visit visit) const {
        for (std::size_t k = 0; k < entries_.size(); ++k)
            if (entries_[k].ticket) visit(i64(k), entries_[k]);
    }

private:
    OpenTable(i64 words, std::size_t size)
        : entries_(size), marks_(size * std::size_t(words)), words_(words), shift_(64 - __builtin_ctzll(size)) {}
};

}  // namespace hn
