#include "fleet_columns.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "fields.hpp"
#include "fleet_photo.hpp"

namespace hn {
namespace {

template <class T>
In<T> column(const nb::dict& from, const char* name, std::size_t size) {
    In<T> found;
    must(nb::try_cast(nb::object(nb::borrow(entry(from, name))), found), name, "be numbers");
    must(found.size() == size, name, "have a number for each");
    return found;
}
u64 within(u64 x, u64 low, u64 high, const char* name) {
    must(x >= low && x <= high, name, "be in its range");
    return x;
}

/// The open decisions of a file, checked; `open_of` counts them by learner.
struct OpenRead {
    std::vector<OpenDecision> decisions;  // ticket: the learner's place, and its round
    std::vector<u64> marks;
    std::vector<u32> open_of;
};

OpenRead read_open(Fleet& fleet, const nb::dict& from, const In<u64>& drawn, int origins) {
    const i64 words = fleet.plan.mark_words;
    In<u64> learners;
    must(nb::try_cast(nb::object(nb::borrow(entry(from, "learner"))), learners), "learner", "be numbers");
    const std::size_t count = learners.size(), m = drawn.size();
    const auto rounds = column<u64>(from, "round_open", count), arms = column<u64>(from, "arm_open", count);
    const auto origin = column<u64>(from, "origin", count), slept = column<u64>(from, "slept_open", count);
    const auto marks = column<u64>(from, "marks", count * std::size_t(words));
    const auto p = column<double>(from, "probability_open", count), weight = column<double>(from, "weight_open", count);
    OpenRead out;
    out.open_of.assign(m, 0), out.decisions.resize(count);
    out.marks.assign(marks.data(), marks.data() + marks.size());
    std::vector<u64> seen(count);
    const bool reduced = fleet.setup.estimator == Estimator::reduced_variance;
    for (std::size_t k = 0; k < count; ++k) {
        OpenDecision& one = out.decisions[k];
        must(m > 0, "learner", "be one of those that are there");
        const u64 learner = within(learners.data()[k], 0, m - 1, "learner");
        const u64 round = within(rounds.data()[k], 1, drawn.data()[learner], "round");
        one.ticket = seen[k] = ticket_of(u32(learner), u32(round));
        one.arm = u32(within(arms.data()[k], 0, u64(fleet.setup.n - 1), "arm"));
        one.origin = std::uint16_t(within(origin.data()[k], 0, u64(origins - 1), "origin"));
        one.slept = u8(within(slept.data()[k], 0, reduced || !words ? 0 : 1, "slept_open"));
        one.probability = p.data()[k], one.weight = weight.data()[k];
        must(one.probability > 0.0 && one.probability <= 1.0, "the probability of an open move", "be in (0, 1]");
        must(one.weight > 0.0 && std::isfinite(one.weight), "the weight of an open move", "be > 0");
        const u64* bits = out.marks.data() + k * std::size_t(words);
        if (one.slept) must(bits[one.arm / 64] >> (one.arm % 64) & 1, "the mask of the awake", "have the arm that was drawn");
        for (i64 j = fleet.setup.n; j < 64 * words; ++j) must(!(bits[j / 64] >> (j % 64) & 1), "marks", "be of arms that there are");
        ++out.open_of[std::size_t(learner)];
    }
    std::sort(seen.begin(), seen.end());
    must(std::adjacent_find(seen.begin(), seen.end()) == seen.end(), "an open move", "be there once");
    return out;
}

}  // namespace

nb::object put(Fleet& fleet, nb::dict from, In<i64> keys, bool keyed, In<i64> numbers) {
    const Setup& s = fleet.setup;
    const RowPlan& plan = fleet.plan;
    const std::size_t m = keys.size(), stride = std::size_t(plan.stride);
    const Busy here = fleet.alone();
    require(numbers.size() == 0 || numbers.size() == m, "numbers must be one per learner");
    const auto drawn = column<u64>(from, "drawn", m), forgotten = column<u64>(from, "forgotten", m);
    const auto delay = column<u64>(from, "delay", m), slept = column<u64>(from, "slept", m);
    const auto behind = column<u64>(from, "behind", m), stayed = column<u64>(from, "stayed", m);
    const auto stream = column<u64>(from, "stream", 4 * m);
    for (std::size_t k = 0; k < m; ++k) within(drawn.data()[k], 0, most_rounds, "drawn");
    const OpenRead open = read_open(fleet, from, drawn, fleet.origins);
    std::vector<Column> columns = columns_of(fleet);
    std::erase_if(columns, [](const Column& c) { return c.open || c.whole; });
    std::vector<In<double>> doubles;
    for (const Column& c : columns) doubles.push_back(column<double>(from, c.name.c_str(), m * std::size_t(c.width)));
    std::vector<double> made(m * stride);
    for (std::size_t k = 0; k < m; ++k) {
        double* row = made.data() + k * stride;
        for (std::size_t c = 0; c < columns.size(); ++c)
            for (i64 j = 0; j < columns[c].width; ++j) {
                const double x = doubles[c].data()[k * std::size_t(columns[c].width) + std::size_t(j)];
                // What a law without a mean leaves in its value may be infinite: of numbers that nothing is made from.
                must(std::isfinite(x) || columns[c].name == "value" || columns[c].name == "start" ||
                         columns[c].name == "drift" || columns[c].name == "change" || columns[c].name == "level",
                     columns[c].name.c_str(), "be finite");
                row[columns[c].from + j] = x;
            }
        __builtin_memcpy(row + plan.stream, stream.data() + 4 * k, 4 * sizeof(u64));
        const Words words = stream_at(plan, row);
        must(words.a | words.b | words.c | words.d, "stream", "not be all zero");
        RowCounts counts;
        counts.drawn = u32(drawn.data()[k]), counts.open = open.open_of[k];
        counts.forgotten = u32(within(forgotten.data()[k], 0, drawn.data()[k], "forgotten"));
        must(u64(counts.open) + counts.forgotten <= counts.drawn, "open moves", "be no more than were drawn");
        counts.delay = u32(within(delay.data()[k], 0, std::min<u64>(drawn.data()[k], (1u << 29) - 1), "delay"));
        counts.slept = u32(within(slept.data()[k], 0, plan.mark_words && s.estimator != Estimator::reduced_variance ? 1 : 0, "slept"));
        counts.behind = u32(within(behind.data()[k], 0, counts.drawn ? 1 : 0, "behind"));
        counts.stayed = u32(within(stayed.data()[k], 0, plan.compact && by_series(s.path) ? 1 : 0, "stayed"));
        put_counts(plan, row, counts);
        const double total = counts.stayed ? row[plan.state + 2] : 1.0, slope_sum = row[plan.state + 3];
        Run& run = fleet.run;
        static_cast<RunNumbers&>(run) = RunNumbers{};
        if (plan.compact && s.path == Path::entropy_one)
            must(row[plan.state + 1] >= 0.0 && row[plan.state + 1] < double(s.n) && row[plan.state + 1] == std::floor(row[plan.state + 1]),
                 "arm", "be one that there is");
        fleets().unpack(s, plan, row, run);
        must(run.round == double(counts.drawn), "round", "be the number of moves drawn");
        check_numbers(s, run);
        check_weights(s, run);
        check_memory(s, run);
        check_identity(run, fleet.start, false);
        must_agree(s, run, fleet.twin);
        if (plan.compact && by_series(s.path))  // read where the weights are not made again
            must(run.total == total && run.slope_sum == slope_sum, "slope_sum", "be that of the losses");
        fleets().pack(s, plan, run, row);  // with 1/scale made here, not read
    }
    for (std::size_t k = 0; k < m; ++k) {
        if (keyed) must(fleet.keys.find(u64(keys.data()[k])) == KeyTable::none, "a key", "be there once");
        if (numbers.size()) {
            const u64 least = k ? u64(numbers.data()[k - 1]) + 1 : fleet.rows.born();
            must(numbers.data()[k] >= 0, "numbers", "be at least 0");
            within(u64(numbers.data()[k]), least, most_learners - 1, "numbers");
        }
    }
    if (keyed) {
        std::vector<i64> sorted(keys.data(), keys.data() + m);
        std::sort(sorted.begin(), sorted.end());
        must(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "a key", "be there once");
    }
    require(fleet.rows.born() + m <= most_learners, "a fleet has at most 2^31 learners in its life");
    fleet.open.reserve(i64(open.decisions.size()));
    Fresh<i64> given{m};
    for (std::size_t k = 0; k < m; ++k) {
        const u64 key = u64(keys.data()[k]);
        const u64 number = numbers.size() ? fleet.rows.add(key, u64(numbers.data()[k])) : fleet.rows.add(key);
        __builtin_memcpy(fleet.rows.row(number), made.data() + k * stride, stride * sizeof(double));
        if (keyed) fleet.keys.add(key, u32(number));
        given.data[k] = i64(number);
    }
    for (std::size_t k = 0; k < open.decisions.size(); ++k) {
        const OpenDecision& one = open.decisions[k];
        const i64 place = fleet.open.add(ticket_of(u32(given.data[one.ticket >> 32]), u32(one.ticket)));
        const u64 ticket = fleet.open.at(place).ticket;
        fleet.open.change(place) = one;
        fleet.open.change(place).ticket = ticket;
        for (i64 w = 0; w < plan.mark_words; ++w)
            fleet.open.change_marks(place)[w] = open.marks[k * std::size_t(plan.mark_words) + std::size_t(w)];
    }
    return given.give();
}

}  // namespace hn
