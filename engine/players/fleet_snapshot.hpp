// Snapshot of learners of a fleet. The rows are copied first; columns are computed later, while the fleet continues.
//
// The fleet is blocked only while rows are copied, one page at a time if all learners are copied (see fleet_rows.hpp).
// Sorting and conversion come afterwards, without the interpreter's lock.
#pragma once

#include <string>
#include <vector>

#include "fleet_state.hpp"

namespace hn {

/// Column of a file, of learners or of open decisions (`open`). `from` is its offset in a row, or -1. A `counted` number is
/// an integer in a row, and a double in a file.
struct Column {
    std::string name;
    bool open, whole;
    i64 width, from;
    bool counted = false;
    std::size_t bytes(std::size_t rows) const { return rows * std::size_t(width) * sizeof(double); }
};
/// Columns of the learners (number, key, doubles of a row, stream, counts), then of the open decisions.
std::vector<Column> columns_of(const Fleet& fleet);

class Snapshot {
    RowPlan plan_;
    std::vector<Column> columns_;
    std::vector<u64> numbers_, keys_;
    HugeVector<double> rows_;
    const double* numbers_at_ = nullptr;  // one row per learner
    // Keeps the fleet alive while it is copied. Declared before `copy_`, so that it is destroyed after it.
    std::shared_ptr<Fleet> fleet_;
    std::unique_ptr<RowsCopy> copy_;
    OpenTable open_;
    // Computed from the copy and sorted by ticket, so that equal fleets give equal bytes.
    std::vector<OpenDecision> decisions_;
    std::vector<u64> learners_, marks_;
    bool sorted_ = false, given_ = false;

public:
    /// Copy some learners and their open decisions.
    Snapshot(Fleet& fleet, std::span<const i64> numbers);
    /// Copy the open decisions of all learners; expose() copies the rows.
    explicit Snapshot(std::shared_ptr<Fleet> fleet);
    Snapshot(const Snapshot&) = delete;
    /// Copy more pages. Returns true if pages are left.
    bool expose(std::size_t pages);

    i64 learners() const { return i64(copy_ && !sorted_ ? copy_->size() : numbers_.size()); }

    /// Sort the learners and decisions, once; the pages must be copied before. The interpreter's lock is not needed.
    void sort();
    bool sorted() const { return sorted_; }
    // All that follows needs a sorted snapshot.
    i64 open() const { return i64(decisions_.size()); }
    const std::vector<Column>& columns() const { return columns_; }
    /// Number of learners or of open decisions.
    std::size_t count(const Column& column) const {
        return column.open ? decisions_.size() : numbers_.size();
    }
    void fill(const Column& column, u8* out) const;
    /// Ids of the player under which open decisions were drawn, ascending.
    std::vector<u64> origins() const;
    /// Check that the bytes are requested for the first time.
    void begin_writing();
    std::size_t bytes() const;
    /// Write all columns, with positions of ids in `origins`, and free the snapshot.
    void write(std::span<const u64> origins, u8* out);
};

}  // namespace hn
