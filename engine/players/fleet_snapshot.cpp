#include "fleet_snapshot.hpp"

#include <algorithm>
#include <utility>

namespace hn {

std::vector<Column> columns_of(const Fleet& fleet) {
    const RowPlan& plan = fleet.plan;
    std::vector<Column> found{{"number", false, true, 1, -1}, {"key", false, true, 1, -1}};
    const auto add = [&](const char* name, i64 from, i64 width) {
        found.push_back({name, false, false, width, from});
    };
    add("losses", 0, plan.n);
    if (plan.compact) {
        add("base", plan.state, 1);
        add("own", plan.own, 1);
        if (by_series(fleet.setup.path)) {
            add("placed", plan.state + 1, 1);
            add("moved", plan.state + 2, 1);
            add("slope_sum", plan.state + 3, 1);
        } else if (fleet.setup.path == Path::entropy_one) add("arm", plan.state + 1, 1);
    } else {
        add("weights", plan.weights, plan.n);
        if (fleet.setup.memory_places()) add("memory", plan.memory, fleet.setup.memory_places());
        RunNumbers numbers;
        each_number(numbers, [&]<class Number>(const char* name, Number& x) {
            const auto offset = reinterpret_cast<const char*>(&x) - reinterpret_cast<const char*>(&numbers);
            add(name, plan.numbers + i64(offset) / i64(sizeof(double)), 1);
            found.back().counted = std::is_same_v<Number, i64>;
        });
    }
    if (plan.diagnosed) found.push_back({"diagnosed", false, true, 0, 0});  // a flag without numbers
    found.push_back({"stream", false, true, 4, plan.stream});
    for (const char* name : {"drawn", "forgotten", "delay", "slept", "stayed", "behind"})
        found.push_back({name, false, true, 1, -1});
    for (const char* name : {"probability_open", "weight_open"}) found.push_back({name, true, false, 1, -1});
    for (const char* name : {"learner", "round_open", "arm_open", "origin", "slept_open"})
        found.push_back({name, true, true, 1, -1});
    found.push_back({"marks", true, true, plan.mark_words, -1});
    return found;
}

Snapshot::Snapshot(Fleet& fleet, std::span<const i64> numbers)
    : plan_(fleet.plan), columns_(columns_of(fleet)), numbers_(numbers.size()), keys_(numbers.size()),
      open_(fleet.open.shared()) {
    const Busy here = fleet.alone();
    const std::size_t stride = std::size_t(plan_.stride);
    rows_.resize(numbers.size() * stride);
    numbers_at_ = rows_.data();
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        require(numbers[k] >= 0 && fleet.rows.has(u64(numbers[k])), "invalid learner id");
        numbers_[k] = u64(numbers[k]);
        keys_[k] = fleet.rows.key(numbers_[k]);
        __builtin_memcpy(rows_.data() + k * stride, fleet.rows.row(numbers_[k]), stride * sizeof(double));
    }
}

Snapshot::Snapshot(std::shared_ptr<Fleet> fleet) : fleet_(std::move(fleet)) {
    Fleet& from = *fleet_;
    const Busy here = from.alone();
    plan_ = from.plan;
    columns_ = columns_of(from);
    open_ = from.open.shared();
    copy_ = std::make_unique<RowsCopy>(from.rows, plan_.stride);
}

bool Snapshot::expose(std::size_t pages) {
    if (!fleet_) return false;
    if (copy_->go_on(pages)) return true;
    fleet_.reset();
    return false;
}

/// Radix sort by ticket, with digits of eleven bits; equal digits are skipped.
void sort_by_ticket(std::vector<std::pair<u64, i64>>& found) {
    u64 all = 0;
    for (const auto& one : found) all |= one.first ^ found[0].first;
    std::vector<std::pair<u64, i64>> other(found.size());
    std::vector<std::size_t> at(2048);
    for (int shift = 0; shift < 64; shift += 11) {
        if (!(all >> shift & 2047)) continue;
        std::fill(at.begin(), at.end(), 0);
        for (const auto& one : found) ++at[one.first >> shift & 2047];
        std::size_t before = 0;
        for (std::size_t& here : at) before += std::exchange(here, before);
        for (const auto& one : found) other[at[one.first >> shift & 2047]++] = one;
        found.swap(other);
    }
}

void Snapshot::sort() {
    if (sorted_) return;
    if (copy_) {
        numbers_ = copy_->learners();
        keys_ = copy_->keys();
        numbers_at_ = copy_->numbers();
    }
    std::vector<std::pair<u64, u64>> places(numbers_.size());
    for (std::size_t k = 0; k < numbers_.size(); ++k) places[k] = {numbers_[k], k};
    if (!std::is_sorted(places.begin(), places.end())) std::sort(places.begin(), places.end());
    std::vector<std::pair<u64, i64>> found;
    found.reserve(std::size_t(open_.count()));
    open_.each([&](i64 place, const OpenDecision& one) { found.emplace_back(one.ticket, place); });
    sort_by_ticket(found);
    decisions_.reserve(found.size());
    learners_.reserve(found.size());
    marks_.reserve(found.size() * std::size_t(plan_.mark_words));
    std::size_t whose = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
        if (k + 24 < found.size()) {
            __builtin_prefetch(&open_.at(found[k + 24].second));
            __builtin_prefetch(open_.marks(found[k + 24].second));
        }
        const auto [ticket, place] = found[k];
        while (whose < places.size() && places[whose].first < ticket >> 32) ++whose;
        if (whose == places.size() || places[whose].first != ticket >> 32)
            continue;  // learner is not in the snapshot
        decisions_.push_back(open_.at(place));
        learners_.push_back(places[whose].second);
        marks_.insert(marks_.end(), open_.marks(place), open_.marks(place) + plan_.mark_words);
    }
    open_ = OpenTable();
    sorted_ = true;
}

void Snapshot::fill(const Column& column, u8* out) const {
    const std::size_t m = count(column), width = std::size_t(column.width),
                      stride = std::size_t(plan_.stride);
    const auto put = [&](std::size_t k, auto value) {
        __builtin_memcpy(out + k * sizeof value, &value, sizeof value);
    };
    const auto counts = [&](auto pick) {
        for (std::size_t k = 0; k < m; ++k) put(k, u64(pick(counts_at(plan_, numbers_at_ + k * stride))));
    };
    const auto decisions = [&](auto pick) {
        for (std::size_t k = 0; k < m; ++k) put(k, pick(decisions_[k]));
    };
    if (column.counted) {
        for (std::size_t k = 0; k < m; ++k) {
            i64 value;
            __builtin_memcpy(&value, numbers_at_ + k * stride + column.from, sizeof value);
            put(k, double(value));
        }
    } else if (column.from >= 0) {
        for (std::size_t k = 0; k < m; ++k)
            __builtin_memcpy(out + k * width * 8, numbers_at_ + k * stride + column.from, width * 8);
    } else if (column.name == "number" || column.name == "key" || column.name == "learner" ||
               column.name == "marks") {
        const std::vector<u64>& from = column.name == "number"  ? numbers_
                                       : column.name == "key"   ? keys_
                                       : column.name == "marks" ? marks_
                                                                : learners_;
        if (m > 0 && width > 0) __builtin_memcpy(out, from.data(), m * width * sizeof(u64));
    } else if (column.name == "drawn") counts([](const RowCounts& c) { return c.drawn; });
    else if (column.name == "forgotten") counts([](const RowCounts& c) { return c.forgotten; });
    else if (column.name == "delay") counts([](const RowCounts& c) { return c.delay; });
    else if (column.name == "slept") counts([](const RowCounts& c) { return c.slept; });
    else if (column.name == "stayed") counts([](const RowCounts& c) { return c.stayed; });
    else if (column.name == "behind") counts([](const RowCounts& c) { return c.behind; });
    else if (column.name == "probability_open")
        decisions([](const OpenDecision& one) { return one.probability; });
    else if (column.name == "weight_open") decisions([](const OpenDecision& one) { return one.weight; });
    else if (column.name == "round_open")
        decisions([](const OpenDecision& one) { return u64(u32(one.ticket)); });
    else if (column.name == "arm_open") decisions([](const OpenDecision& one) { return u64(one.arm); });
    else if (column.name == "origin") decisions([](const OpenDecision& one) { return u64(one.origin); });
    else decisions([](const OpenDecision& one) { return u64(one.slept) | u64(one.version) << 8; });
}

std::vector<u64> Snapshot::origins() const {
    std::size_t most = 0;
    for (const OpenDecision& one : decisions_) most = std::max<std::size_t>(most, one.origin);
    std::vector<bool> seen(most + 1);
    for (const OpenDecision& one : decisions_) seen[one.origin] = true;
    std::vector<u64> found;
    for (u64 k = 0; k < seen.size(); ++k)
        if (seen[k]) found.push_back(k);
    return found;
}

void Snapshot::begin_writing() {
    require(!given_, "body() of a snapshot can be called once");
    given_ = true;
}

std::size_t Snapshot::bytes() const {
    std::size_t size = 0;
    for (const Column& column : columns_) size += column.bytes(count(column));
    return size;
}

void Snapshot::write(std::span<const u64> origins, u8* out) {
    for (OpenDecision& one : decisions_)
        one.origin = std::uint16_t(
            std::lower_bound(origins.begin(), origins.end(), u64(one.origin)) - origins.begin());
    for (const Column& column : columns_) {
        fill(column, out);
        out += column.bytes(count(column));
    }
    copy_.reset();
    rows_ = {};
    decisions_ = {};
    learners_ = {};
    marks_ = {};
    keys_ = {};
}

}  // namespace hn
