// All rows of a fleet as they were at one moment, copied by and by while the fleet plays on.
//
// Rows lie in pages of 64 learners or more. Whoever is about to change one copies its page first, if that is not yet done;
// the others are copied when there is time. All of it happens under the interpreter's lock.
#pragma once

#include "rows.hpp"

namespace hn {

class RowsCopy {
    static constexpr i64 page_bytes = 1 << 14;
    Rows& rows_;
    i64 stride_;
    int bits_ = 6;                       // a page has 2^bits learners
    std::vector<u64> alive_;             // who was there, 64 a word
    std::vector<std::size_t> begins_;    // of each page: how many learners were before it; and of all
    std::vector<u8> done_;
    std::size_t next_ = 0, left_;
    SmallPagedVector<double> numbers_;   // reserved, and written page by page: to set all to 0 would be waited for
    SmallPagedVector<u64> keys_;

    std::size_t words() const { return std::size_t(1) << (bits_ - 6); }
    /// (number, place in the copy) of the learners of a page.
    template <class Visit> void each_of(std::size_t page, Visit visit) const {
        std::size_t at = begins_[page];
        for (std::size_t w = page * words(); w < alive_.size() && w < (page + 1) * words(); ++w)
            for (u64 left = alive_[w]; left; left &= left - 1) visit(u64(w) * 64 + u64(__builtin_ctzll(left)), at++);
    }
    void copy(std::size_t page) {
        each_of(page, [&](u64 number, std::size_t at) {
            __builtin_memcpy(numbers_.data() + at * std::size_t(stride_), rows_.row(number), std::size_t(stride_) * sizeof(double));
            keys_.data()[at] = rows_.key(number);
        });
        done_[page] = 1;
        if (--left_ == 0) rows_.forget(this);
    }

public:
    RowsCopy(Rows& rows, i64 stride)
        : rows_(rows), stride_(stride), alive_(rows.alive()) {
        while (i64(2) << bits_ <= rows.chunk() && (i64(2) << bits_) * stride * i64(sizeof(double)) <= page_bytes) ++bits_;
        const std::size_t pages = (alive_.size() + words() - 1) / words();
        begins_.assign(1, 0);
        for (std::size_t page = 0; page < pages; ++page) {
            std::size_t count = begins_.back();
            for (std::size_t w = page * words(); w < alive_.size() && w < (page + 1) * words(); ++w)
                count += std::size_t(__builtin_popcountll(alive_[w]));
            begins_.push_back(count);
        }
        numbers_.reserve(begins_.back() * std::size_t(stride));
        keys_.reserve(begins_.back()), done_.resize(pages), left_ = pages;
        if (left_) rows_.remember(this);
    }
    RowsCopy(const RowsCopy&) = delete;
    ~RowsCopy() {
        if (left_) rows_.forget(this);
    }

    /// A learner changes, or goes.
    void before(u64 number) {
        const std::size_t page = std::size_t(number >> bits_);
        if (page < done_.size() && !done_[page]) copy(page);
    }
    /// Some pages more; whether any is left.
    bool go_on(std::size_t pages) {
        for (; left_ && pages > 0; ++next_)
            if (!done_[next_]) copy(next_), --pages;
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
    const std::vector<RowsCopy*> copies = copies_;  // one that is whole leaves them
    for (RowsCopy* copy : copies) copy->before(number);
}

}  // namespace hn
