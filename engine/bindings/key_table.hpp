// From a key to the number of its learner: open addressing, linear probing.
#pragma once

#include "../types.hpp"
#include "huge.hpp"

namespace hn {

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
    /// Of a key that is not there.
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
    /// Those behind it move up, so that no search ends too early.
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
            if (((k - from) & mask) >= ((k - hole) & mask)) entries_[hole] = entries_[k], hole = k;
        }
    }

private:
    void place(u64 key, u32 number) {
        std::size_t at = home(key);
        while (entries_[at].number != none) at = next(at);
        entries_[at].key = key, entries_[at].number = number;
    }
};

}  // namespace hn
