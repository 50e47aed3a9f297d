// Hash table of pending decisions. The key is the ticket: the learner number in the high bits, the round in the low bits.
//
// Open addressing with linear probing, in segments of at most 1024 places that are at most 80% full on average. A place has
// 32 bytes, and 8 more per 64 arms if decisions have baselines or available arms. Linear hashing: the table grows by one
// segment at a time, so that no insertion waits for all of it. A copy shares segments until they change. The table holds no
// Python objects, so the garbage collector does not visit it. The hash depends on a number of the process, so that no file
// can place all its tickets in one segment.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "../types.hpp"
#include "fleet_rows.hpp"

namespace hn {

inline u64 ticket_of(u32 number, u32 round) { return u64(number) << 32 | round; }

struct OpenDecision {
    u64 ticket = 0;  // never 0 if occupied, because rounds begin at 1
    double weight = 0.0, probability = 0.0;
    u32 arm = 0;
    std::uint16_t origin = 0;  // index of the player id at the draw
    u8 slept = 0;
    u8 version = 0;  // version of the centers of evidence at the draw, plus 1; 0 if the draw is not counted
};
static_assert(sizeof(OpenDecision) == 32);

class OpenTable {
    static constexpr int most_bits = 10;
    static constexpr double begins = 0.7, full = 0.8;  // load at which the splits of a level begin and end
    struct Segment {
        std::vector<OpenDecision> entries;
        std::vector<u64> marks;
        Segment(std::size_t size, i64 words) : entries(size), marks(size * std::size_t(words)) {}
    };
    std::vector<std::shared_ptr<Segment>> segments_;
    std::vector<OpenDecision*> entries_;  // start of each segment, which saves an indirection
    std::vector<u64*> marks_;
    std::vector<u8> shared_;
    i64 words_, count_ = 0;
    int bits_ = 6;           // a segment has 2^bits places
    std::size_t level_ = 1;  // number of segments at the start of this level
    std::size_t split_ = 0;  // number of segments that have been split

    u64 salt_ = of_this_process();

    static u64 of_this_process() {
        static const u64 salt =
            u64(std::chrono::steady_clock::now().time_since_epoch().count()) * 0x9e3779b97f4a7c15u ^
            u64(reinterpret_cast<std::uintptr_t>(&salt)) * 0xd6e8feb86659fd93u;
        return salt;
    }
    u64 mixed(u64 ticket) const {
        ticket = (ticket ^ salt_) * 0x9e3779b97f4a7c15u;
        ticket ^= ticket >> 32;
        return ticket * 0xd6e8feb86659fd93u;
    }
    std::size_t size() const { return std::size_t(1) << bits_; }
    std::size_t segment_of(u64 hash) const {
        const std::size_t k = std::size_t(hash >> 8) & (level_ - 1);
        return k >= split_ ? k : std::size_t(hash >> 8) & (2 * level_ - 1);
    }
    std::size_t home(u64 hash) const { return std::size_t(hash >> (64 - bits_)); }
    std::size_t next(std::size_t at) const { return (at + 1) & (size() - 1); }
    i64 place_of(std::size_t segment, std::size_t at) const { return i64(segment << most_bits | at); }
    static std::size_t segment_at(i64 place) { return std::size_t(place) >> most_bits; }
    static std::size_t within(i64 place) { return std::size_t(place) & ((std::size_t(1) << most_bits) - 1); }

    void make(std::size_t k) {
        hold(k, std::make_shared<Segment>(size(), words_));
        shared_[k] = 0;
    }
    void append() {
        segments_.emplace_back();
        entries_.emplace_back();
        marks_.emplace_back();
        shared_.emplace_back();
        make(segments_.size() - 1);
    }
    /// Return a segment for writing; a shared segment is copied first.
    OpenDecision* own(std::size_t k) {
        if (__builtin_expect(shared_[k], 0)) unshare(k);
        return entries_[k];
    }
    __attribute__((noinline)) void unshare(std::size_t k) {
        if (segments_[k].use_count() > 1) hold(k, std::make_shared<Segment>(*segments_[k]));
        else std::atomic_thread_fence(std::memory_order_acquire);
        shared_[k] = 0;
    }
    void hold(std::size_t k, std::shared_ptr<Segment> segment) {
        segments_[k] = std::move(segment);
        entries_[k] = segments_[k]->entries.data();
        marks_[k] = segments_[k]->marks.data();
    }
    void move_marks(u64* to, std::size_t at, const u64* from, std::size_t was) const {
        for (i64 w = 0; w < words_; ++w) to[i64(at) * words_ + w] = from[i64(was) * words_ + w];
    }
    /// Distribute the decisions of a segment after a split.
    void spread(const Segment& old) {
        for (std::size_t was = 0; was < old.entries.size(); ++was) {
            if (!old.entries[was].ticket) continue;
            const u64 hash = mixed(old.entries[was].ticket);
            const std::size_t k = segment_of(hash);
            std::size_t at = home(hash);
            while (entries_[k][at].ticket) at = next(at);
            entries_[k][at] = old.entries[was];
            move_marks(marks_[k], at, old.marks.data(), was);
        }
    }
    void grow() {
        if (bits_ < most_bits) {  // there is one
            const std::shared_ptr<Segment> old = segments_[0];
            ++bits_;
            make(0);
            spread(*old);
            return;
        }
        append();
        const std::shared_ptr<Segment> old = segments_[split_];
        make(split_);
        if (++split_ == level_) {
            level_ *= 2;
            split_ = 0;
        }
        spread(*old);
    }
    /// True if this number of decisions needs another segment.
    bool crowded(i64 count) const {
        const double load = double(count) / double(level_ * size());
        if (bits_ < most_bits) return load > full;
        return load > begins && double(split_) < double(level_) * (load - begins) / (full - begins);
    }

public:
    explicit OpenTable(i64 words = 0) : words_(words) { append(); }
    /// Sharing must be recorded in the original and in the copy: see shared().
    OpenTable(const OpenTable&) = default;
    OpenTable(OpenTable&&) = default;
    OpenTable& operator=(OpenTable&&) = default;

    /// Return a copy that shares segments until they change.
    OpenTable shared() {
        shared_.assign(shared_.size(), 1);
        return *this;
    }
    i64 count() const { return count_; }
    i64 bytes() const {
        return i64(segments_.size() * (size() * (sizeof(OpenDecision) + std::size_t(words_) * sizeof(u64)) +
                                       sizeof(Segment) + 33));
    }
    void fetch(u64 ticket) const {
        const u64 hash = mixed(ticket);
        const std::size_t k = segment_of(hash);
        __builtin_prefetch(entries_[k] + home(hash), 1);
        if (words_) __builtin_prefetch(marks_[k] + i64(home(hash)) * words_, 1);
    }
    /// Return the place of an open decision, or -1. Valid until a decision is added or removed.
    i64 find(u64 ticket) const {
        if (ticket == 0) return -1;
        const u64 hash = mixed(ticket);
        const std::size_t k = segment_of(hash);
        const OpenDecision* entries = entries_[k];
        for (std::size_t at = home(hash); entries[at].ticket; at = next(at))
            if (entries[at].ticket == ticket) return place_of(k, at);
        return -1;
    }
    const OpenDecision& at(i64 place) const { return entries_[segment_at(place)][within(place)]; }
    const u64* marks(i64 place) const { return marks_[segment_at(place)] + i64(within(place)) * words_; }
    OpenDecision& change(i64 place) { return own(segment_at(place))[within(place)]; }
    u64* change_marks(i64 place) {
        own(segment_at(place));
        return marks_[segment_at(place)] + i64(within(place)) * words_;
    }

    /// Reserve places, so that additions do not allocate unless the hashes are very uneven.
    void reserve(i64 more) {
        while (crowded(count_ + more)) grow();
    }
    /// Add a new ticket. Space must have been reserved.
    i64 add(u64 ticket) {
        const u64 hash = mixed(ticket);
        for (;;) {
            const std::size_t k = segment_of(hash);
            OpenDecision* entries = own(k);
            std::size_t at = home(hash), seen = 0;
            while (entries[at].ticket && ++seen < size()) at = next(at);
            if (seen + 1 < size()) {  // one place stays empty, because searches end there
                entries[at].ticket = ticket;
                ++count_;
                return place_of(k, at);
            }
            grow();
        }
    }
    /// Remove an entry. Later entries of the chain move up, so that no search ends early.
    void remove(i64 place) {
        --count_;
        OpenDecision* entries = own(segment_at(place));
        u64* marks = marks_[segment_at(place)];
        const std::size_t mask = size() - 1;
        for (std::size_t hole = within(place), k = next(hole);; k = next(k)) {
            if (!entries[k].ticket) {
                entries[hole] = OpenDecision{};
                return;
            }
            if (((k - home(mixed(entries[k].ticket))) & mask) >= ((k - hole) & mask)) {
                entries[hole] = entries[k];
                move_marks(marks, hole, marks, k);
                hole = k;
            }
        }
    }
    /// Visit (place, decision) of all open decisions.
    template <class Visit> void each(Visit visit) const {
        for (std::size_t k = 0; k < segments_.size(); ++k)
            for (std::size_t at = 0; at < size(); ++at)
                if (entries_[k][at].ticket) visit(place_of(k, at), entries_[k][at]);
    }
};

// Hash table from a key to a learner number: open addressing with linear probing.

class KeyTable {
    struct Entry {
        u64 key = 0;
        u32 number = none, unused = 0;
    };
    HugeVector<Entry> entries_ = HugeVector<Entry>(64);
    int shift_ = 64 - 6;
    i64 count_ = 0;

    std::size_t home(u64 key) const {
        key ^= key >> 32;  // keys in steps of 2^k would share their high bits' product
        return std::size_t(key * 0x9e3779b97f4a7c15u >> shift_);
    }
    std::size_t next(std::size_t at) const { return (at + 1) & (entries_.size() - 1); }

public:
    static constexpr u32 none = 0xffffffffu;

    i64 size() const { return count_; }
    i64 bytes() const { return i64(entries_.capacity() * sizeof(Entry)); }
    void fetch(u64 key) const { __builtin_prefetch(&entries_[home(key)]); }
    u32 find(u64 key) const {
        for (std::size_t at = home(key); entries_[at].number != none; at = next(at))
            if (entries_[at].key == key) return entries_[at].number;
        return none;
    }
    /// Add a new key.
    void add(u64 key, u32 number) {
        if ((count_ + 1) * 10 > i64(entries_.size()) * 7) {
            HugeVector<Entry> old(entries_.size() * 2);
            old.swap(entries_);
            --shift_;
            for (const Entry& e : old)
                if (e.number != none) place(e.key, e.number);
        }
        place(key, number);
        ++count_;
    }
    /// Remove an entry. Later entries of the chain move up, so that no search ends early.
    void remove(u64 key) {
        std::size_t at = home(key);
        while (entries_[at].key != key || entries_[at].number == none) {
            if (entries_[at].number == none) return;
            at = next(at);
        }
        --count_;
        for (std::size_t hole = at, k = next(at);; k = next(k)) {
            if (entries_[k].number == none) {
                entries_[hole] = Entry{};
                return;
            }
            const std::size_t from = home(entries_[k].key), mask = entries_.size() - 1;
            if (((k - from) & mask) >= ((k - hole) & mask)) {
                entries_[hole] = entries_[k];
                hole = k;
            }
        }
    }

private:
    void place(u64 key, u32 number) {
        std::size_t at = home(key);
        while (entries_[at].number != none) at = next(at);
        entries_[at].key = key;
        entries_[at].number = number;
    }
};

}  // namespace hn
