// hannan._engine, coverage: proposals of intervals made of residuals, and trackers that certify their coverage.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "../coverage.hpp"
#include "arrays.hpp"
#include "fields.hpp"
#include "registration.hpp"

namespace hn {
namespace {

/// Rows that wait for their targets: those of a table by their places, all others by their numbers.
template <class Row>
class OpenRows {
    std::unordered_map<i64, Row> far_;
    std::vector<Row> near_;
    std::vector<char> waits_;
    i64 first_ = 0, near_open_ = 0;

public:
    /// Rows first .. first + count - 1 are those of a table; it ends with `leave`.
    void enter(i64 first, i64 count) {
        first_ = first;
        near_.resize(std::size_t(count));
        waits_.assign(std::size_t(count), 0);
    }
    void leave() {
        for (std::size_t e = 0; e < waits_.size(); ++e)
            if (waits_[e]) far_[first_ + i64(e)] = std::move(near_[e]);
        near_.clear();
        waits_.clear();
        near_open_ = 0;
    }
    bool is_near(i64 number) const { return number >= first_ && number - first_ < i64(waits_.size()); }
    Row* find(i64 number) {
        if (is_near(number)) {
            const std::size_t e = std::size_t(number - first_);
            if (waits_[e]) return &near_[e];
        }
        const auto found = far_.find(number);
        return found == far_.end() ? nullptr : &found->second;
    }
    Row& open(i64 number) {
        if (!is_near(number)) return far_[number];
        const std::size_t e = std::size_t(number - first_);
        waits_[e] = 1;
        ++near_open_;
        return near_[e];
    }
    void close(i64 number) {
        if (is_near(number) && waits_[std::size_t(number - first_)]) {
            waits_[std::size_t(number - first_)] = 0;
            --near_open_;
        } else {
            far_.erase(number);
        }
    }
    i64 count() const { return i64(far_.size()) + near_open_; }
    const std::unordered_map<i64, Row>& all() const { return far_; }
};

void check_levels(const double* levels, i64 count, double low, double high, const char* rule) {
    double before = low;
    for (i64 q = 0; q < count; ++q) {
        require(before < levels[q] && levels[q] < high, rule);
        before = levels[q];
    }
}

class Intervals {
    std::vector<double> levels_, numbers_;
    Residuals state_;
    OpenRows<ResidualRow> rows_;

    void propose(i64 number, double center, const double* forecasts, i64 n, double* proposals, double& unit) {
        ResidualRow row{};
        const bool told = coverage().propose(state_, center, forecasts, n, row, proposals);
        for (i64 k = 0; !told && k < state_.ends * proposers; ++k) proposals[k] = __builtin_nan("");
        unit = row.unit;
        rows_.open(number) = row;
    }

public:
    explicit Intervals(In<double> levels) : levels_(levels.data(), levels.data() + levels.size()) {
        check_levels(levels_.data(), i64(levels_.size()), 0.0, 1.0, "levels must ascend in (0, 1)");
        state_.ends = i64(levels_.size());
        state_.level = levels_.data();
        i64 room = 0;
        for (const i64 size : window_sizes) room += 2 * size;
        numbers_.assign(std::size_t(state_.ends ? room : 0), 0.0);
        double* to = numbers_.data();
        for (i64 i = 0; i < proposers && state_.ends; ++i) {
            state_.window[i] = {window_sizes[i], 0, 0, to, to + window_sizes[i]};
            to += 2 * window_sizes[i];
        }
    }
    Intervals(const Intervals&) = delete;
    Intervals& operator=(const Intervals&) = delete;

    /// Return (proposals level by level, or None if there are too few residuals; unit, 0 if unknown).
    nb::tuple propose_one(i64 number, double center, In<double> forecasts) {
        require(!rows_.find(number), "the row is already pending");
        Fresh<double> out{std::size_t(state_.ends * proposers)};
        double unit = 0.0;
        propose(number, center, forecasts.data(), i64(forecasts.size()), out.data, unit);
        return nb::make_tuple(unit > 0.0 ? out.give() : nb::none(), unit);
    }
    void settle(i64 number, double target) {
        const ResidualRow* row = rows_.find(number);
        require(row != nullptr, "the row is not pending");
        coverage().learn(state_, *row, target);
        rows_.close(number);
    }
    bool forget(i64 number) {
        const bool found = rows_.find(number) != nullptr;
        if (found) rows_.close(number);
        return found;
    }
    /// Process events in order: e >= 0 answers row e of the table, number first + e; e < 0 settles row number ~e, or
    /// forgets it if its target is NaN.
    void events(In<i64> order, In<double> told, i64 first, In<double> centers, Table2<double> forecasts,
                OutTable2<double> proposals, Out<double> units) {
        const i64 rows = i64(centers.size()), n = i64(forecasts.shape(1)), width = state_.ends * proposers;
        require(i64(forecasts.shape(0)) == rows && i64(units.size()) == rows && i64(proposals.shape(0)) == rows &&
                    i64(proposals.shape(1)) == width && told.size() == order.size(),
                "arrays must have one row per row of the table, and one target per event");
        for (i64 k = 0; k < i64(order.size()); ++k) require(order.data()[k] < rows, "order must consist of row numbers of the table");
        bool fine = true;
        {
            nb::gil_scoped_release released;
            rows_.enter(first, rows);
            for (i64 k = 0; k < i64(order.size()) && fine; ++k) {
                const i64 e = order.data()[k];
                if (e >= 0) {
                    fine = !rows_.find(first + e);
                    if (fine)
                        propose(first + e, centers.data()[e], forecasts.data() + e * n, n, proposals.data() + e * width,
                                units.data()[e]);
                } else {
                    const ResidualRow* row = rows_.find(~e);
                    fine = row != nullptr;
                    if (!fine) continue;
                    if (told.data()[k] == told.data()[k]) coverage().learn(state_, *row, told.data()[k]);
                    rows_.close(~e);
                }
            }
            rows_.leave();
        }
        require(fine, "a row must be answered once, then settled once");
    }

    nb::dict fields() {
        nb::dict out, rows;
        nb::list windows;
        for (i64 i = 0; i < proposers && state_.ends; ++i) {
            const SortedWindow& w = state_.window[i];
            Fresh<double> line{std::size_t(w.count)};
            const i64 oldest = w.count < w.most ? 0 : w.next;
            for (i64 k = 0; k < w.count; ++k) line.data[k] = w.line[(oldest + k) % w.most];
            windows.append(line.give());
        }
        out["windows"] = windows;
        out["recent"] = array_of(state_.recent, scales);
        out["weight"] = array_of(state_.weight, scales);
        const double sums[4] = {state_.total, state_.settled, state_.mean_spread, state_.answered};
        out["sums"] = array_of(sums, 4);
        for (const auto& [number, row] : rows_.all())
            rows[nb::int_(number)] = array_of(reinterpret_cast<const double*>(&row), sizeof(ResidualRow) / sizeof(double));
        out["open"] = rows;
        return out;
    }
    /// Numbers are finite: the caller checked them.
    void restore(const nb::dict& from) {
        const nb::list windows = nb::cast<nb::list>(entry(from, "windows"));
        must(i64(windows.size()) == (state_.ends ? proposers : 0), "windows", "must have one array per proposer");
        In<double> recent, weight, sums;
        must(nb::try_cast(nb::object(nb::borrow(entry(from, "recent"))), recent) && recent.size() == scales, "recent",
             "must have one number per scale");
        must(nb::try_cast(nb::object(nb::borrow(entry(from, "weight"))), weight) && weight.size() == scales, "weight",
             "must have one number per scale");
        must(nb::try_cast(nb::object(nb::borrow(entry(from, "sums"))), sums) && sums.size() == 4, "sums",
             "must have four numbers");
        for (i64 i = 0; i < i64(windows.size()); ++i) {
            In<double> line;
            must(nb::try_cast(nb::object(nb::borrow(windows[std::size_t(i)])), line) &&
                     i64(line.size()) <= window_sizes[i],
                 "windows", "must have at most as many numbers as their capacity");
            SortedWindow& w = state_.window[i];
            for (i64 k = 0; k < i64(line.size()); ++k) w.line[k] = w.sorted[k] = line.data()[k];
            std::sort(w.sorted, w.sorted + line.size());
            w.count = i64(line.size());
            w.next = w.count == w.most ? 0 : w.count;
        }
        for (i64 k = 0; k < scales; ++k) state_.recent[k] = recent.data()[k], state_.weight[k] = weight.data()[k];
        state_.total = sums.data()[0], state_.settled = sums.data()[1];
        state_.mean_spread = sums.data()[2], state_.answered = sums.data()[3];
        for (auto [key, value] : nb::cast<nb::dict>(entry(from, "open"))) {
            In<double> found;
            must(nb::try_cast(nb::object(nb::borrow(value)), found) &&
                     found.size() == sizeof(ResidualRow) / sizeof(double),
                 "open", "must have the number of entries of a pending row");
            double* to = reinterpret_cast<double*>(&rows_.open(nb::cast<i64>(key)));
            for (std::size_t k = 0; k < found.size(); ++k) to[k] = found.data()[k];
        }
    }
    i64 open_rows() const { return rows_.count(); }
    i64 settled() const { return i64(state_.settled); }
};

/// An open row of a tracker.
struct TrackedRow {
    std::vector<double> numbers;
    std::vector<i64> groups;
};

class CoverageTracker {
    std::vector<double> rates_, counts_, sums_;
    Tracker state_;
    OpenRows<TrackedRow> rows_;
    i64 most_open_ = 0;

    i64 group_count() const { return i64(counts_.size()) / state_.stride(); }
    bool issue(i64 number, const double* base, double unit, const i64* groups, i64 count, double* ends) {
        TrackedRow& row = rows_.open(number);
        row.numbers.resize(std::size_t(state_.width()));
        row.groups.assign(groups, groups + count);
        coverage().issue(state_, base, unit, groups, count, row.numbers.data());
        for (i64 k = 0; k < state_.ends(); ++k) ends[k] = row.numbers[std::size_t(1 + k)];
        if (rows_.count() > most_open_) most_open_ = rows_.count();
        return true;
    }
    void settle(i64 number, const TrackedRow& row, double target) {
        coverage().settle(state_, row.numbers.data(), row.groups.data(), i64(row.groups.size()), target);
        rows_.close(number);
    }
    void check(const double* base, double unit, const i64* groups, i64 count) const {
        require(unit > 0.0 && std::isfinite(unit), "unit must be positive");
        for (i64 k = 0; k < state_.ends(); ++k) require(std::isfinite(base[k]), "base ends must be finite");
        for (i64 k = 0; k < count; ++k) require(groups[k] > 0 && groups[k] < group_count(), "groups must be numbers of existing groups");
    }

public:
    CoverageTracker(In<double> rates, bool lower, bool upper, double step, double start, double group_step)
        : rates_(rates.data(), rates.data() + rates.size()) {
        require(!rates_.empty() && (lower || upper), "a tracker must have at least one end");
        for (std::size_t k = 0; k < rates_.size(); ++k)
            require(rates_[k] > 0.0 && rates_[k] <= 0.5 && (k == 0 || rates_[k] < rates_[k - 1]),
                    "rates must descend in (0, 1/2]");
        state_.coverages = i64(rates_.size());
        state_.lower = lower;
        state_.upper = upper;
        state_.rate = rates_.data();
        state_.step = step;
        state_.start = start;
        state_.group_step = group_step;
        sums_.assign(std::size_t(Tracker::sum_columns * state_.ends()), 0.0);
        state_.sums = sums_.data();
        groups(1);
    }
    CoverageTracker(const CoverageTracker&) = delete;
    CoverageTracker& operator=(const CoverageTracker&) = delete;

    /// Make room for groups 0 .. count - 1; new ones have no rows.
    void groups(i64 count) {
        require(count >= 1 && count <= (i64(1) << 24), "the number of groups must be between 1 and 2^24");
        if (count > group_count()) counts_.resize(std::size_t(count * state_.stride()), 0.0);
        state_.counts = counts_.data();
    }
    nb::object issue_one(i64 number, In<double> base, double unit, In<i64> groups) {
        require(!rows_.find(number), "the row is already pending");
        require(i64(base.size()) == state_.ends(), "base must have one number per end");
        check(base.data(), unit, groups.data(), i64(groups.size()));
        Fresh<double> out{std::size_t(state_.ends())};
        issue(number, base.data(), unit, groups.data(), i64(groups.size()), out.data);
        return out.give();
    }
    void settle_one(i64 number, double target) {
        const TrackedRow* row = rows_.find(number);
        require(row != nullptr, "the row is not pending");
        require(std::isfinite(target), "a target must be finite");
        settle(number, *row, target);
    }
    bool forget(i64 number) {
        const bool found = rows_.find(number) != nullptr;
        if (found) rows_.close(number);
        return found;
    }
    /// As `Intervals.events`; the groups of row e are groups[starts[e] .. starts[e + 1] - 1].
    void events(In<i64> order, In<double> told, i64 first, Table2<double> base, In<double> units, In<i64> groups,
                In<i64> starts, OutTable2<double> ends) {
        const i64 rows = i64(units.size()), width = state_.ends();
        require(i64(base.shape(0)) == rows && i64(base.shape(1)) == width && i64(ends.shape(0)) == rows &&
                    i64(ends.shape(1)) == width && i64(starts.size()) == rows + 1 && told.size() == order.size(),
                "arrays must have one row per row of the table, and one target per event");
        const i64* start = starts.data();
        require(start[0] == 0 && start[rows] == i64(groups.size()), "starts must begin at 0 and end at the number of groups");
        for (i64 e = 0; e < rows; ++e) require(start[e] <= start[e + 1], "starts must ascend");
        for (i64 k = 0; k < i64(order.size()); ++k) {
            const i64 e = order.data()[k];
            require(e < rows, "order must consist of row numbers of the table");
            if (e >= 0) check(base.data() + e * width, units.data()[e], groups.data() + start[e], start[e + 1] - start[e]);
            else require(!std::isinf(told.data()[k]), "a target must be finite, or NaN to forget a row");
        }
        bool fine = true;
        {
            nb::gil_scoped_release released;
            rows_.enter(first, rows);
            for (i64 k = 0; k < i64(order.size()) && fine; ++k) {
                const i64 e = order.data()[k];
                if (e >= 0) {
                    fine = !rows_.find(first + e) && issue(first + e, base.data() + e * width, units.data()[e],
                                                           groups.data() + start[e], start[e + 1] - start[e],
                                                           ends.data() + e * width);
                } else {
                    const TrackedRow* row = rows_.find(~e);
                    fine = row != nullptr;
                    if (fine && told.data()[k] == told.data()[k]) settle(~e, *row, told.data()[k]);
                    else if (fine) rows_.close(~e);
                }
            }
            rows_.leave();
        }
        require(fine, "a row must be answered once, then settled once");
    }

    nb::object counts() {
        Fresh<double> out{std::size_t(group_count()), std::size_t(state_.stride())};
        for (std::size_t k = 0; k < counts_.size(); ++k) out.data[k] = counts_[k];
        return out.give();
    }
    nb::object sums() {
        Fresh<double> out{std::size_t(state_.ends()), std::size_t(Tracker::sum_columns)};
        for (std::size_t k = 0; k < sums_.size(); ++k) out.data[k] = sums_[k];
        return out.give();
    }
    nb::dict fields() {
        nb::dict out, rows;
        out["counts"] = array_of(counts_.data(), i64(counts_.size()));
        out["sums"] = array_of(sums_.data(), i64(sums_.size()));
        out["most_open"] = most_open_;
        for (const auto& [number, row] : rows_.all())
            rows[nb::int_(number)] = nb::make_tuple(array_of(row.numbers.data(), i64(row.numbers.size())),
                                                    array_of(row.groups.data(), i64(row.groups.size())));
        out["open"] = rows;
        return out;
    }
    /// Counts are consistent and numbers finite: the caller checked them.
    void restore(const nb::dict& from) {
        In<double> counts, sums;
        must(nb::try_cast(nb::object(nb::borrow(entry(from, "counts"))), counts) && counts.size() > 0 &&
                 i64(counts.size()) % state_.stride() == 0,
             "counts", "must have the same number of entries per group");
        must(nb::try_cast(nb::object(nb::borrow(entry(from, "sums"))), sums) && sums.size() == sums_.size(), "sums",
             "must have three numbers per end");
        most_open_ = whole(from, "most_open", 0, i64(1) << 53);
        groups(i64(counts.size()) / state_.stride());
        require(counts_.size() == counts.size(), "counts must have one row per group");
        for (std::size_t k = 0; k < counts_.size(); ++k) counts_[k] = counts.data()[k];
        for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] = sums.data()[k];
        for (auto [key, value] : nb::cast<nb::dict>(entry(from, "open"))) {
            const nb::tuple parts = nb::cast<nb::tuple>(value);
            In<double> numbers;
            In<i64> found;
            must(parts.size() == 2 && nb::try_cast(nb::object(parts[0]), numbers) &&
                     i64(numbers.size()) == state_.width() && nb::try_cast(nb::object(parts[1]), found),
                 "open", "must have the entries and the groups of a pending row");
            for (std::size_t k = 0; k < found.size(); ++k)
                must(found.data()[k] > 0 && found.data()[k] < group_count(), "open", "must have groups of the file");
            must(numbers.data()[0] > 0.0, "open", "must have positive units");
            TrackedRow& row = rows_.open(nb::cast<i64>(key));
            row.numbers.assign(numbers.data(), numbers.data() + numbers.size());
            row.groups.assign(found.data(), found.data() + found.size());
        }
    }
    i64 open_rows() const { return rows_.count(); }
    i64 most_open() const { return most_open_; }
};

}  // namespace

void bind_coverage(nb::module_& m) {
    m.attr("PROPOSERS") = proposers;
    m.attr("FEWEST_RESIDUALS") = fewest;
    nb::class_<Intervals>(m, "Intervals", "Proposals of intervals around point forecasts, computed from residuals.")
        .def(nb::init<In<double>>(), "levels"_a)
        .def("propose", &Intervals::propose_one, "row"_a, "center"_a, "forecasts"_a,
             "Return (proposals level by level or None, unit or 0).")
        .def("settle", &Intervals::settle, "row"_a, "target"_a)
        .def("forget", &Intervals::forget, "row"_a)
        .def("events", &Intervals::events, "order"_a, "told"_a, "first"_a, nb::kw_only(), "centers"_a, "forecasts"_a,
             "proposals"_a, "units"_a)
        .def("fields", &Intervals::fields)
        .def("restore", &Intervals::restore, "fields"_a)
        .def_prop_ro("open_rows", &Intervals::open_rows)
        .def_prop_ro("settled", &Intervals::settled);
    nb::class_<CoverageTracker>(m, "CoverageTracker",
                                "Ends of intervals whose miss rates over the settled rows are known exactly.")
        .def(nb::init<In<double>, bool, bool, double, double, double>(), "rates"_a, "lower"_a, "upper"_a, "step"_a,
             "start"_a, "group_step"_a)
        .def("groups", &CoverageTracker::groups, "count"_a)
        .def("issue", &CoverageTracker::issue_one, "row"_a, "base"_a, "unit"_a, "groups"_a)
        .def("settle", &CoverageTracker::settle_one, "row"_a, "target"_a)
        .def("forget", &CoverageTracker::forget, "row"_a)
        .def("events", &CoverageTracker::events, "order"_a, "told"_a, "first"_a, nb::kw_only(), "base"_a, "units"_a,
             "groups"_a, "starts"_a, "ends"_a)
        .def("fields", &CoverageTracker::fields)
        .def("restore", &CoverageTracker::restore, "fields"_a)
        .def_prop_ro("counts", &CoverageTracker::counts,
                     "Per group: settled rows, misses per end, rows missed at both ends per coverage.")
        .def_prop_ro("sums", &CoverageTracker::sums, "Per end: cost, its bound, and the largest distance in units.")
        .def_prop_ro("open_rows", &CoverageTracker::open_rows)
        .def_prop_ro("most_open", &CoverageTracker::most_open);
}

}  // namespace hn
