// Learners of a fleet as they are at one moment: copied at once, put into columns later, while the fleet plays on.
//
// Copying is what a fleet's user waits for, so it is nothing but copying, and of all learners a page at a time (see
// fleet_rows.hpp). Whatever takes time comes afterwards, without the interpreter's lock.
#pragma once

#include <string>
#include <vector>

#include "fleet_state.hpp"

namespace hn {

/// A column of a file: of the learners, or of the open decisions. `from`: where a row has it, or -1.
struct Column {
    std::string name;
    bool open, whole;
    i64 width, from;
    std::size_t bytes(std::size_t rows) const { return rows * std::size_t(width) * sizeof(double); }
};
/// number and key, the doubles of a row, its stream and counts; then those of the open decisions.
std::vector<Column> columns_of(const Fleet& fleet);

class Photo {
    RowPlan plan_;
    std::vector<Column> columns_;
    std::vector<u64> numbers_, keys_;
    HugeVector<double> rows_;
    const double* numbers_at_ = nullptr;  // a row a learner
    // Of all: the fleet stays as long as it is copied, so it is named first, and goes last.
    nb::object fleet_;
    std::unique_ptr<RowsCopy> copy_;
    OpenTable open_;
    // Made of the copy, when columns are asked for: by ticket, so that the same fleet is the same bytes.
    std::vector<OpenDecision> decisions_;
    std::vector<u64> learners_, marks_;
    bool sorted_ = false, given_ = false;

    void sort();
    void fill(const Column& column, u8* out) const;
    std::size_t count(const Column& column) const {
        return column.open ? decisions_.size() : numbers_.size();
    }

public:
    /// Of these learners, and what is open of theirs.
    Photo(Fleet& fleet, In<i64> numbers);
    /// Of all learners: what is open at once, the rows when they are exposed.
    explicit Photo(nb::object fleet);
    Photo(const Photo&) = delete;
    /// So many pages more; whether any is left.
    bool expose(std::size_t pages);

    i64 learners() const { return i64(copy_ && !sorted_ ? copy_->size() : numbers_.size()); }
    i64 open();
    /// Arrays by name.
    nb::dict columns();
    /// The ids that open decisions were drawn under, ascending; and all columns in a row, those ids by their places there.
    nb::object origins();
    nb::bytes body(In<u64> origins);
};

}  // namespace hn
