#include "../players/fleet_state.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "../players.hpp"
#include "../players/fleet_snapshot.hpp"
#include "fields.hpp"
#include "registration.hpp"
#include "setup.hpp"

namespace hn {
namespace {

template <class T>
In<T> column(const nb::dict& from, const char* name, std::size_t size) {
    In<T> found;
    must(nb::try_cast(nb::object(nb::borrow(entry(from, name))), found), name, "must be an array of numbers");
    must(found.size() == size, name, "must have one number per row");
    return found;
}
u64 within(u64 x, u64 low, u64 high, const char* name) {
    if (x < low || x > high)
        throw nb::value_error((std::string(name) + " must be between " + std::to_string(low) + " and " +
                               std::to_string(high) + "; got " + std::to_string(x))
                                  .c_str());
    return x;
}

/// Read and check the pending decisions of a file; `open_of` counts them by learner.
struct OpenRead {
    std::vector<OpenDecision> decisions;  // ticket: position of the learner, and its round
    std::vector<u64> marks;
    std::vector<u32> open_of;
};

OpenRead read_open(Fleet& fleet, const nb::dict& from, const In<u64>& drawn, int origins) {
    const i64 words = fleet.plan.mark_words;
    In<u64> learners;
    must(nb::try_cast(nb::object(nb::borrow(entry(from, "learner"))), learners), "learner",
         "must be an array of numbers");
    const std::size_t count = learners.size(), m = drawn.size();
    const auto rounds = column<u64>(from, "round_open", count), arms = column<u64>(from, "arm_open", count);
    const auto origin = column<u64>(from, "origin", count), slept = column<u64>(from, "slept_open", count);
    const auto marks = column<u64>(from, "marks", count * std::size_t(words));
    const auto p = column<double>(from, "probability_open", count),
               weight = column<double>(from, "weight_open", count);
    OpenRead out;
    out.open_of.assign(m, 0);
    out.decisions.resize(count);
    out.marks.assign(marks.data(), marks.data() + marks.size());
    std::vector<u64> seen(count);
    const bool reduced = fleet.setup.estimator == Estimator::reduced_variance;
    for (std::size_t k = 0; k < count; ++k) {
        OpenDecision& one = out.decisions[k];
        must(m > 0, "learner", "must be the number of a learner in the file");
        const u64 learner = within(learners.data()[k], 0, m - 1, "learner");
        const u64 round = within(rounds.data()[k], 1, drawn.data()[learner], "round");
        one.ticket = seen[k] = ticket_of(u32(learner), u32(round));
        one.arm = u32(within(arms.data()[k], 0, u64(fleet.setup.n - 1), "arm"));
        one.origin = std::uint16_t(within(origin.data()[k], 0, u64(origins - 1), "origin"));
        // The version of the evidence is stored in the bits above the flag.
        one.slept = u8(within(slept.data()[k] & 255, 0, reduced || !words ? 0 : 1, "slept_open"));
        one.version = u8(within(slept.data()[k] >> 8, 0, 65, "slept_open"));
        one.probability = p.data()[k];
        one.weight = weight.data()[k];
        must(one.probability > 0.0 && one.probability <= 1.0, "the probability of an open move",
             "must be in (0, 1]");
        must(one.weight > 0.0 && std::isfinite(one.weight), "the weight of an open move", "must be > 0");
        const u64* bits = out.marks.data() + k * std::size_t(words);
        if (one.slept)
            must(bits[one.arm / 64] >> (one.arm % 64) & 1, "the mask of available arms",
                 "must contain the arm that was drawn");
        for (i64 j = fleet.setup.n; j < 64 * words; ++j)
            must(!(bits[j / 64] >> (j % 64) & 1), "marks", "must mark arms between 0 and n - 1");
        ++out.open_of[std::size_t(learner)];
    }
    std::sort(seen.begin(), seen.end());
    must(std::adjacent_find(seen.begin(), seen.end()) == seen.end(), "an open move", "must occur once");
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
    for (const Column& c : columns)
        doubles.push_back(column<double>(from, c.name.c_str(), m * std::size_t(c.width)));
    std::vector<double> made(m * stride);
    for (std::size_t k = 0; k < m; ++k) {
        double* row = made.data() + k * stride;
        for (std::size_t c = 0; c < columns.size(); ++c)
            for (i64 j = 0; j < columns[c].width; ++j) {
                const double x = doubles[c].data()[k * std::size_t(columns[c].width) + std::size_t(j)];
                // The value of a law without a mean may be infinite; it is not used.
                must(std::isfinite(x) || columns[c].name == "value" || columns[c].name == "start" ||
                         columns[c].name == "drift" || columns[c].name == "change" ||
                         columns[c].name == "level",
                     columns[c].name.c_str(), "must be finite");
                row[columns[c].from + j] = x;
                if (!columns[c].counted) continue;
                const i64 value = counted(columns[c].name.c_str(), x);
                __builtin_memcpy(row + columns[c].from + j, &value, sizeof value);
            }
        __builtin_memcpy(row + plan.stream, stream.data() + 4 * k, 4 * sizeof(u64));
        const Words words = stream_at(plan, row);
        must(words.a | words.b | words.c | words.d, "stream", "must have a word that is not zero");
        RowCounts counts;
        counts.drawn = u32(drawn.data()[k]);
        counts.open = open.open_of[k];
        counts.forgotten = u32(within(forgotten.data()[k], 0, drawn.data()[k], "forgotten"));
        must(u64(counts.open) + counts.forgotten <= counts.drawn, "open moves",
             "must be at most the number of moves drawn");
        counts.delay =
            u32(within(delay.data()[k], 0, std::min<u64>(drawn.data()[k], (1u << 29) - 1), "delay"));
        counts.slept =
            u32(within(slept.data()[k], 0,
                       plan.mark_words && s.estimator != Estimator::reduced_variance ? 1 : 0, "slept"));
        counts.behind = u32(within(behind.data()[k], 0, counts.drawn ? 1 : 0, "behind"));
        counts.stayed = u32(within(stayed.data()[k], 0, plan.compact && by_series(s.path) ? 1 : 0, "stayed"));
        put_counts(plan, row, counts);
        const double total = counts.stayed ? row[plan.state + 2] : 1.0, slope_sum = row[plan.state + 3];
        Run& run = fleet.run;
        static_cast<RunNumbers&>(run) = RunNumbers{};
        if (plan.compact && s.path == Path::entropy_one)
            must(row[plan.state + 1] >= 0.0 && row[plan.state + 1] < double(s.n) &&
                     row[plan.state + 1] == std::floor(row[plan.state + 1]),
                 "arm", "must be between 0 and n - 1");
        fleets().unpack(s, plan, row, run);
        must(run.round == i64(counts.drawn), "round", "must be the number of moves drawn");
        check_numbers(s, run);
        check_weights(s, run);
        check_memory(s, run);
        check_identity(run, fleet.start, false);
        must_agree(s, run, fleet.twin);
        if (plan.compact && by_series(s.path))  // read if the weights are not recomputed
            must(run.total == total && run.slope_sum == slope_sum, "slope_sum",
                 "must equal the sum computed from the losses");
        fleets().pack(s, plan, run, row);  // with 1/scale recomputed instead of read
    }
    for (std::size_t k = 0; k < m; ++k) {
        if (keyed) must(fleet.keys.find(u64(keys.data()[k])) == KeyTable::none, "a key", "must occur once");
        if (numbers.size()) {
            const u64 least = k ? u64(numbers.data()[k - 1]) + 1 : fleet.rows.born();
            must(numbers.data()[k] >= 0, "numbers", "must be >= 0");
            within(u64(numbers.data()[k]), least, most_learners - 1, "numbers");
        }
    }
    if (keyed) {
        std::vector<i64> sorted(keys.data(), keys.data() + m);
        std::sort(sorted.begin(), sorted.end());
        must(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "a key", "must occur once");
    }
    require(fleet.rows.born() + m <= most_learners,
            "a fleet must create at most 2^31 learners, removed learners included");
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

// hannan._engine.Fleet: many learners of one description, by key; batches of draws and of feedback.

namespace {

using Flags = nb::ndarray<const bool, nb::c_contig, nb::device::cpu>;

/// Masks of available arms: null, one mask for all decisions, or one per decision. Python has checked that
/// every mask has an available arm.
const bool* mask_of(const Fleet& fleet, nb::object awake, i64 count, Flags& kept, i64& per_decision) {
    per_decision = 0;
    if (awake.is_none()) return nullptr;
    require(fleet.plan.mark_words > 0, "awake must be None for a learner that does not support unavailable arms");
    kept = nb::cast<Flags>(awake);
    const i64 n = fleet.setup.n;
    if (kept.ndim() == 2) per_decision = n;
    require(kept.size() == std::size_t(kept.ndim() == 2 ? n * count : n),
            "awake must have one entry per arm");
    return kept.data();
}

nb::object drawn(Fleet& fleet, Fresh<i64>& tickets, nb::object awake) {
    const i64 count = i64(tickets.rows);
    Flags kept;
    i64 per_decision;
    const bool* mask = mask_of(fleet, awake, count, kept, per_decision);
    Fresh<i64> rounds{tickets.rows}, arms{tickets.rows};
    Fresh<double> p{tickets.rows};
    fleet.act(count, mask, per_decision, tickets.data, rounds.data, arms.data, p.data);
    return nb::make_tuple(tickets.give(), rounds.give(), arms.give(), p.give());
}

nb::object act_on_keys(Fleet& fleet, In<i64> keys, nb::object awake) {
    Fresh<i64> tickets{keys.size()};
    for (std::size_t k = 0; k < keys.size(); ++k) {
        if (k + far < keys.size()) fleet.keys.fetch(u64(keys.data()[k + far]));
        tickets.data[k] = fleet.number_of(u64(keys.data()[k]));
    }
    return drawn(fleet, tickets, awake);
}
nb::object act_on_numbers(Fleet& fleet, In<i64> numbers, nb::object awake) {
    Fresh<i64> tickets{numbers.size()};
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        const i64 number = numbers.data()[k];
        require(number >= 0 && fleet.rows.has(u64(number)), "invalid learner id");
        tickets.data[k] = number;
    }
    return drawn(fleet, tickets, awake);
}

/// Tickets as they were issued, or learner numbers and rounds if those are given.
struct Handed {
    std::vector<u64> tickets;
    Told told;

    Handed(Fleet& fleet, const In<i64>& given, bool sealed, const In<i64>& actions, const In<double>& p,
           int origin)
        : tickets(given.size()) {
        require(actions.size() == 0 || actions.size() == tickets.size(), "actions must be one per ticket");
        require(p.size() == 0 || p.size() == tickets.size(), "probabilities must be one per ticket");
        for (std::size_t k = 0; k < tickets.size(); ++k)
            tickets[k] = sealed ? fleet.seal.opened(given.data()[k]) : u64(given.data()[k]);
        told = {tickets.data(), i64(tickets.size()), actions.size() ? actions.data() : nullptr,
                p.size() ? p.data() : nullptr, origin};
    }
};

void set_seed(Fleet& fleet, In<u32> pool, u32 constant) {
    require(pool.size() == 4, "pool must have four words");
    for (std::size_t k = 0; k < 4; ++k) fleet.seed.pool[k] = pool.data()[k];
    fleet.seed.constant = constant;
}

/// An array with one row per number; `give(row, k)` fills a row.
template <class T, class Give>
nb::object told_by_row(Fleet& fleet, const In<i64>& numbers, Give give) {
    Fresh<T> out{numbers.size()};
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        require(numbers.data()[k] >= 0 && fleet.rows.has(u64(numbers.data()[k])), "invalid learner id");
        out.data[k] = give(fleet.rows.row(u64(numbers.data()[k])));
    }
    return out.give();
}

nb::dict counts_of(Fleet& fleet, In<i64> numbers) {
    const RowPlan& plan = fleet.plan;
    nb::dict out;
    const auto add = [&](const char* name, auto pick) {
        out[name] = told_by_row<i64>(fleet, numbers,
                                     [&](const double* row) { return i64(pick(counts_at(plan, row))); });
    };
    add("drawn", [](const RowCounts& c) { return c.drawn; });
    add("open", [](const RowCounts& c) { return c.open; });
    add("forgotten", [](const RowCounts& c) { return c.forgotten; });
    add("delay", [](const RowCounts& c) { return c.delay; });
    add("slept", [](const RowCounts& c) { return c.slept; });
    out["own"] = told_by_row<double>(fleet, numbers, [&](const double* row) { return row[plan.own]; });
    return out;
}

/// One learner in the form in which a player is saved.
nb::dict fields(Fleet& fleet, i64 number) {
    require(number >= 0 && fleet.rows.has(u64(number)), "invalid learner id");
    const Busy here = fleet.alone();
    const double* row = fleet.rows.row(u64(number));
    const RowCounts counts = counts_at(fleet.plan, row);
    Run& run = fleet.run;
    static_cast<RunNumbers&>(run) = RunNumbers{};
    for (i64 k = 0; k < fleet.setup.scratch_places(); ++k) run.scratch[k] = 0.0;
    fleets().unpack(fleet.setup, fleet.plan, row, run);
    nb::dict out = fields_of(fleet.setup, run);
    out["drawn"] = counts.drawn;
    out["forgotten"] = counts.forgotten;
    out["largest_delay"] = i64(counts.delay);
    return out;
}

/// Pending decisions of one learner, as arrays by name.
nb::dict open_of(Fleet& fleet, i64 number) {
    std::vector<OpenDecision> found;
    std::vector<u64> marks;
    fleet.open.each([&](i64 place, const OpenDecision& one) {
        if (i64(one.ticket >> 32) != number) return;
        const u64* bits = fleet.open.marks(place);
        found.push_back(one);
        marks.insert(marks.end(), bits, bits + fleet.plan.mark_words);
    });
    nb::dict out;
    const auto give = [&](const char* name, auto pick) {
        Fresh<std::decay_t<decltype(pick(found[0]))>> made{found.size()};
        for (std::size_t k = 0; k < found.size(); ++k) made.data[k] = pick(found[k]);
        out[name] = made.give();
    };
    give("round", [](const OpenDecision& one) { return i64(u32(one.ticket)); });
    give("action", [](const OpenDecision& one) { return i64(one.arm); });
    give("probability", [](const OpenDecision& one) { return one.probability; });
    give("weight", [](const OpenDecision& one) { return one.weight; });
    give("slept", [](const OpenDecision& one) { return i64(one.slept); });
    out["marks"] = array_of(marks.data(), i64(marks.size()));
    return out;
}

nb::tuple told_columns(Fleet& fleet) {
    nb::list learners, open;
    for (const Column& column : columns_of(fleet))
        (column.open ? open : learners)
            .append(nb::make_tuple(column.name.c_str(), column.whole ? "u" : "f", column.width));
    return nb::make_tuple(learners, open);
}

nb::object numbers_of(Fleet& fleet) {
    Fresh<i64> out{std::size_t(fleet.rows.size())};
    i64 k = 0;
    fleet.rows.each([&](u64 number) { out.data[k++] = i64(number); });
    return out.give();
}

/// Copy what is left of the fleet, and sort without the interpreter's lock.
Snapshot& sorted(Snapshot& snapshot) {
    if (snapshot.sorted()) return snapshot;
    snapshot.expose(std::size_t(-1));
    const nb::gil_scoped_release released;
    snapshot.sort();
    return snapshot;
}

nb::dict columns_of_snapshot(Snapshot& snapshot) {
    sorted(snapshot);
    nb::dict out;
    const auto give = [&](const Column& column, auto zero) {
        Fresh<decltype(zero)> made{snapshot.count(column) * std::size_t(column.width)};
        snapshot.fill(column, reinterpret_cast<u8*>(made.data));
        out[column.name.c_str()] = made.give();
    };
    for (const Column& column : snapshot.columns()) {
        if (column.whole) give(column, u64(0));
        else give(column, 0.0);
    }
    return out;
}

nb::object origins_of(Snapshot& snapshot) {
    const std::vector<u64> found = sorted(snapshot).origins();
    return array_of(found.data(), i64(found.size()));
}

nb::bytes body_of(Snapshot& snapshot, In<u64> origins) {
    snapshot.begin_writing();
    sorted(snapshot);
    nb::bytes made = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, Py_ssize_t(snapshot.bytes())));
    if (!made.is_valid()) throw nb::python_error();
    u8* out = reinterpret_cast<u8*>(PyBytes_AsString(made.ptr()));
    // Freeing much memory takes time, so it is done without the lock.
    const nb::gil_scoped_release released;
    snapshot.write(span_of(origins), out);
    return made;
}

}  // namespace

void bind_fleets(nb::module_& m) {
    nb::enum_<Refusal>(m, "Refusal")
        .value("none", Refusal::none)
        .value("unknown", Refusal::unknown)
        .value("never_drawn", Refusal::never_drawn)
        .value("closed", Refusal::closed)
        .value("twice", Refusal::twice)
        .value("other_fleet", Refusal::other_fleet)
        .value("other_move", Refusal::other_move)
        .value("bad_loss", Refusal::bad_loss);
    nb::class_<Snapshot>(m, "Snapshot", "Snapshot of learners of a fleet, with their open decisions.")
        .def_prop_ro("learners", &Snapshot::learners)
        .def("expose", &Snapshot::expose, "pages"_a,
             "Copy `pages` more pages. Return True if pages are left.")
        .def_prop_ro("open", [](Snapshot& snapshot) { return sorted(snapshot).open(); })
        .def("columns", &columns_of_snapshot, "Return the arrays of the snapshot, by name.")
        .def("origins", &origins_of, "Ids of the player under which the open decisions were drawn.")
        .def("body", &body_of, "origins"_a,
             "Return all columns as bytes; ids are positions in `origins`. Can be called once.");
    nb::class_<Fleet>(m, "Fleet",
                      "Learners with the same description, one row per learner, and their open decisions.")
        .def(
            "__init__",
            [](Fleet* self, std::shared_ptr<Description> described, bool sleeps, In<double> prior, bool diagnosed) {
                new (self) Fleet(described->setup, described, sleeps, span_of(prior), diagnosed);
            },
            "setup"_a, "sleeps"_a, "prior"_a, "diagnosed"_a)
        .def("_set_seed", &set_seed, "pool"_a, "constant"_a)
        .def("_act_on_keys", &act_on_keys, "keys"_a, "awake"_a.none())
        .def("_act_on_numbers", &act_on_numbers, "numbers"_a, "awake"_a.none())
        .def(
            "_settle",
            [](Fleet& fleet, In<i64> tickets, bool sealed, In<double> losses, In<i64> actions, In<double> p,
               int origin) {
                require(losses.size() == tickets.size(), "losses must be one per ticket");
                const Handed handed(fleet, tickets, sealed, actions, p, origin);
                const Refused refused = fleet.settle(handed.told, losses.data());
                return std::make_tuple(refused.why, refused.place);
            },
            "tickets"_a, "sealed"_a, "losses"_a, "actions"_a, "probabilities"_a, "origin"_a,
            "Settle decisions. Returns (refusal, position); the state is unchanged if the refusal is not "
            "none.")
        .def(
            "_forget",
            [](Fleet& fleet, In<i64> tickets, bool sealed, In<i64> actions, In<double> p, int origin) {
                const Refused refused = fleet.forget(Handed(fleet, tickets, sealed, actions, p, origin).told);
                return std::make_tuple(refused.why, refused.place);
            },
            "tickets"_a, "sealed"_a, "actions"_a, "probabilities"_a, "origin"_a)
        .def(
            "_find",
            [](Fleet& fleet, In<i64> keys) {
                Fresh<i64> out{keys.size()};
                for (std::size_t k = 0; k < keys.size(); ++k) {
                    const u32 found = fleet.keys.find(u64(keys.data()[k]));
                    out.data[k] = found == KeyTable::none ? -1 : i64(found);
                }
                return out.give();
            },
            "keys"_a, "Learner numbers of keys, or -1 for keys without a learner.")
        .def(
            "_touch",
            [](Fleet& fleet, In<i64> keys) {
                Fresh<i64> out{keys.size()};
                for (std::size_t k = 0; k < keys.size(); ++k)
                    out.data[k] = fleet.number_of(u64(keys.data()[k]));
                return out.give();
            },
            "keys"_a, "Learner numbers of keys; missing learners are created.")
        .def(
            "_touch_words",
            [](Fleet& fleet, Table2<u32> words) {
                Fresh<i64> out{words.shape(0)};
                const Busy here = fleet.alone();
                for (std::size_t k = 0; k < words.shape(0); ++k) {
                    u64 number;
                    double* row = fleet.born(0, number);
                    fleet.set_stream(row, words.data() + k * words.shape(1), i64(words.shape(1)));
                    out.data[k] = i64(number);
                }
                return out.give();
            },
            "words"_a, "Create learners without a key, with streams from `words`.")
        .def(
            "_reseed",
            [](Fleet& fleet) {
                const Busy here = fleet.alone();
                fleet.rows.each(
                    [&](u64 number) { fleet.set_stream(fleet.rows.change(number), fleet.rows.key(number)); });
            },
            "Restart every stream from the seed and the key.")
        .def(
            "_reseed_words",
            [](Fleet& fleet, In<i64> numbers, Table2<u32> words) {
                require(numbers.size() == words.shape(0), "words must have one row per learner");
                const Busy here = fleet.alone();
                for (std::size_t k = 0; k < numbers.size(); ++k) {
                    require(numbers.data()[k] >= 0 && fleet.rows.has(u64(numbers.data()[k])),
                            "invalid learner id");
                    fleet.set_stream(fleet.rows.change(u64(numbers.data()[k])),
                                     words.data() + k * words.shape(1), i64(words.shape(1)));
                }
            },
            "numbers"_a, "words"_a)
        .def(
            "_keys",
            [](Fleet& fleet, In<i64> numbers) {
                Fresh<i64> out{numbers.size()};
                for (std::size_t k = 0; k < numbers.size(); ++k) {
                    require(numbers.data()[k] >= 0 && fleet.rows.has(u64(numbers.data()[k])),
                            "invalid learner id");
                    out.data[k] = i64(fleet.rows.key(u64(numbers.data()[k])));
                }
                return out.give();
            },
            "numbers"_a)
        .def("_numbers", &numbers_of, "Numbers of all learners, in order of creation.")
        .def("_counts", &counts_of, "numbers"_a)
        .def("_fields", &fields, "number"_a)
        .def("_open_of", &open_of, "number"_a)
        .def_prop_rw(
            "_salt", [](Fleet& fleet) { return fleet.seal.salt; },
            [](Fleet& fleet, u64 salt) { fleet.seal.salt = salt & Seal::within; })
        .def("_columns", &told_columns,
             "(name, kind, numbers per learner) of the columns of learners and of open decisions.")
        .def(
            "_snapshot",
            [](Fleet& fleet, In<i64> numbers) { return std::make_unique<Snapshot>(fleet, span_of(numbers)); },
            "numbers"_a)
        .def(
            "_snapshot_of_all",
            [](std::shared_ptr<Fleet> fleet) { return std::make_unique<Snapshot>(std::move(fleet)); },
            "Snapshot of all learners; expose() copies its pages.")
        .def("_put", &put, "columns"_a, "keys"_a, "keyed"_a, "numbers"_a,
             "Create learners from the columns of a snapshot. Returns their numbers in this fleet.")
        .def(
            "_retire",
            [](Fleet& fleet, In<i64> numbers, bool keyed) {
                for (std::size_t k = 0; k < numbers.size(); ++k)
                    require(numbers.data()[k] >= 0 && fleet.rows.has(u64(numbers.data()[k])),
                            "invalid learner id");
                fleet.retire(span_of(numbers), keyed);
            },
            "numbers"_a, "keyed"_a)
        .def(
            "_born_up_to", [](Fleet& fleet, u64 number) { fleet.rows.born_up_to(number); }, "number"_a)
        .def(
            "_count_in",
            [](Fleet& fleet, std::shared_ptr<Evidence> table, In<i64> columns, bool fresh) {
                fleet.count_in(std::move(table), span_of(columns), fresh);
            },
            "table"_a.none(), "columns"_a, "fresh"_a,
             "Count draws and feedback in a table of evidence. `fresh`: pending decisions are not counted.")
        .def_prop_ro("_counted", &Fleet::counted, "Number of pending decisions that the table counts.")
        .def_prop_ro("_born", [](Fleet& fleet) { return fleet.rows.born(); })
        .def_rw("_origins", &Fleet::origins)
        .def_rw("_origin", &Fleet::origin)
        .def_prop_ro("_diagnosed", [](Fleet& fleet) { return fleet.plan.diagnosed; })
        .def_prop_ro("_open_count", [](Fleet& fleet) { return fleet.open.count(); })
        .def("__len__", [](Fleet& fleet) { return fleet.rows.size(); })
        .def_prop_ro("_bytes", [](Fleet& fleet) {
            nb::dict out;
            out["learners"] = fleet.rows.bytes();
            out["keys"] = fleet.rows.key_bytes() + fleet.keys.bytes();
            out["open"] = fleet.open.bytes();
            return out;
        });
}

}  // namespace hn
