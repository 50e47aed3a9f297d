// Functions of a fleet for the journal: replay of its events bit for bit, and the state of decisions.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "../players.hpp"
#include "../players/fleet_state.hpp"
#include "registration.hpp"

namespace hn {
namespace {

/// Record of the journal; `round` is a ticket of the fleet (learner number and round), or the key of a new
/// learner.
struct Event {
    u8 kind, flags;
    std::uint16_t arm;
    u32 learner;
    u64 round;
    double value;
};
static_assert(sizeof(Event) == 24);
/// Kind of a record. Notes and slates continue in the slots after their record; Python reads them.
enum class EventKind : u8 { act = 1, observe, expire, note, born, slate, slate_observe, slate_expire };
/// State of the decision that feedback names: not pending; pending as stated; or pending with another arm or
/// probability.
enum class Standing : u8 { closed, open, altered };

using Mask = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Available arms: null, or one mask for all draws.
const bool* one_mask(const Fleet& fleet, nb::object awake, Mask& kept) {
    if (awake.is_none()) return nullptr;
    kept = nb::cast<Mask>(awake);
    require(i64(kept.size()) == fleet.setup.n && fleet.plan.mark_words > 0,
            "awake must have one entry per arm, and requires a learner that supports unavailable arms");
    return kept.data();
}

/// Return whether the replay of an event reproduces its record.
bool plays(Fleet& fleet, const Event& event, const bool* awake) {
    const u64 number = event.round >> 32;
    const auto kind = EventKind(event.kind);
    if (kind == EventKind::act) {
        if (!fleet.rows.has(number)) return false;
        i64 ticket = i64(number), round, arm;
        double p;
        fleet.act(1, awake, 0, &ticket, &round, &arm, &p);
        return u64(round) == (event.round & 0xffffffffu) && arm == i64(event.arm) && p == event.value;
    }
    if (kind == EventKind::observe || kind == EventKind::expire)
        return fleet.settle({&event.round, 1}, &event.value).why == Refusal::none;
    if (kind != EventKind::born) return false;
    const u64 before = fleet.rows.born();
    return fleet.number_of(event.round) == before;
}

/// -1, or the place of the first event that differs from its record. `fleet_of(event)` is its fleet, and `before(k,
/// event)` is called before each event.
template <class FleetOf, class Before>
i64 replay_events(FleetOf fleet_of, const Table2<u8>& rows, const bool* mask, Before before) {
    require(rows.shape(1) == sizeof(Event), "events must have 24 bytes each");
    const auto event_at = [&](std::size_t k) {
        Event event;
        std::memcpy(&event, rows.data() + k * sizeof(Event), sizeof(Event));
        return event;
    };
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
        if (k + 8 < rows.shape(0)) {
            const Event next = event_at(k + 8);
            fleet_of(next).fetch(next.round);
        }
        const Event event = event_at(k);
        before(k, event);
        if (!plays(fleet_of(event), event, mask)) return i64(k);
    }
    return -1;
}

/// Replay events of a learner, in the order of the journal, so that its table counts them in this order. `sequences` has the
/// place of each event in the journal.
i64 replay_journal(nb::object unkeyed, nb::object keyed, Table2<u8> rows, nb::object awake, nb::object table,
                   In<u64> sequences) {
    Fleet* const fleets[2] = {nb::cast<Fleet*>(unkeyed), keyed.is_none() ? nullptr : nb::cast<Fleet*>(keyed)};
    Evidence* const evidence = table.is_none() ? nullptr : nb::cast<Evidence*>(table);
    require(sequences.size() == rows.shape(0), "sequences must have one number per event");
    const auto fleet_of = [&](const Event& event) -> Fleet& {
        Fleet* const found = fleets[event.flags & 1];
        require(found != nullptr && event.flags <= 1, "an event must belong to one of the two fleets");
        return *found;
    };
    Mask kept;
    return replay_events(fleet_of, rows, one_mask(*fleets[0], awake, kept), [&](std::size_t k, const Event&) {
        if (evidence) evidence->sequence = sequences.data()[k];
    });
}

/// Write the probabilities of a learner's next draw, with or without open decisions; the state is unchanged.
void next_weights_of(Fleet& fleet, u64 number, const bool* mask, double* p) {
    const Setup& s = fleet.setup;
    const Busy here = fleet.alone();
    const double* row = fleet.rows.row(number);
    Run& run = fleet.run;
    static_cast<RunNumbers&>(run) = RunNumbers{};
    for (i64 k = 0; k < s.scratch_places(); ++k) run.scratch[k] = 0.0;
    fleets().unpack(s, fleet.plan, row, run);
    // With pending moves, the weights may have an older scale; the next draw updates them.
    if (counts_at(fleet.plan, row).open > 0 && !players().make_ready(s, run, false)) throw Unsolved(s);
    if (mask == nullptr)
        for (i64 i = 0; i < s.n; ++i) p[i] = floored(s, run.w[i] / run.total, run.round + 1.0);
    else players().share_awake(s, run, mask, p);
}

/// Replay events as `replay_journal` does: (place, p), where `p` has for each act the probabilities of all arms at the
/// draw, and NaN for other events and from `place` on.
nb::tuple replay_probabilities(nb::object held, Table2<u8> rows, nb::object awake) {
    Fleet& fleet = nb::cast<Fleet&>(held);
    const std::size_t n = std::size_t(fleet.setup.n);
    Mask kept;
    const bool* mask = one_mask(fleet, awake, kept);
    Fresh<double> p{rows.shape(0), n};
    for (std::size_t k = 0; k < rows.shape(0) * n; ++k) p.data[k] = std::numeric_limits<double>::quiet_NaN();
    const auto same = [&](const Event&) -> Fleet& { return fleet; };
    const i64 wrong = replay_events(same, rows, mask, [&](std::size_t k, const Event& event) {
        const u64 number = event.round >> 32;
        if (EventKind(event.kind) == EventKind::act && fleet.rows.has(number))
            next_weights_of(fleet, number, mask, p.data + k * n);
    });
    if (wrong >= 0) std::fill_n(p.data + std::size_t(wrong) * n, n, std::numeric_limits<double>::quiet_NaN());
    return nb::make_tuple(wrong, p.give());
}

Standing standing(const OpenDecision& one, i64 arm, double p) {
    return i64(one.arm) == arm && one.probability == p ? Standing::open : Standing::altered;
}

/// Return the `Standing` of each ticket.
nb::object open_decisions(nb::object held, In<u64> tickets, In<i64> arms, In<double> p) {
    Fleet& fleet = nb::cast<Fleet&>(held);
    require(arms.size() == tickets.size() && p.size() == tickets.size(),
            "arms and probabilities must be one per ticket");
    Fresh<u8> out{tickets.size()};
    for (std::size_t k = 0; k < tickets.size(); ++k) {
        const i64 place = fleet.open.find(tickets.data()[k]);
        if (place < 0) continue;
        out.data[k] = u8(standing(fleet.open.at(place), arms.data()[k], p.data()[k]));
    }
    return out.give();
}

/// Return the tickets that are pending, with their arms.
nb::object still_open(nb::object held, In<u64> tickets) {
    Fleet& fleet = nb::cast<Fleet&>(held);
    std::vector<u64> found;
    std::vector<i64> arms;
    for (std::size_t k = 0; k < tickets.size(); ++k) {
        const i64 place = fleet.open.find(tickets.data()[k]);
        if (place >= 0) {
            found.push_back(tickets.data()[k]);
            arms.push_back(i64(fleet.open.at(place).arm));
        }
    }
    return nb::make_tuple(array_of(found.data(), i64(found.size())), array_of(arms.data(), i64(arms.size())));
}

/// One draw: (ticket, arm, probability).
nb::tuple draw_one(nb::object held, i64 number, nb::object awake) {
    Fleet& fleet = nb::cast<Fleet&>(held);
    require(number >= 0 && fleet.rows.has(u64(number)), "invalid learner id");
    Mask kept;
    const bool* mask = one_mask(fleet, awake, kept);
    i64 ticket = number, round, arm;
    double p;
    fleet.act(1, mask, 0, &ticket, &round, &arm, &p);
    return nb::make_tuple(u64(number) << 32 | u64(round), arm, p);
}

/// One draw per learner of one fleet: (tickets, arms, probabilities, records of the journal).
nb::tuple draw_many(nb::object held, In<i64> numbers, nb::object awake, u32 learner, bool keyed) {
    Fleet& fleet = nb::cast<Fleet&>(held);
    const std::size_t count = numbers.size();
    Mask kept;
    const bool* mask = one_mask(fleet, awake, kept);
    Fresh<u64> tickets{count};
    Fresh<i64> arms{count};
    Fresh<double> p{count};
    std::vector<i64> sealed(count), rounds(count);
    for (std::size_t k = 0; k < count; ++k) {
        require(numbers.data()[k] >= 0 && fleet.rows.has(u64(numbers.data()[k])), "invalid learner id");
        sealed[k] = numbers.data()[k];
    }
    nb::bytes body =
        nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, Py_ssize_t(count * sizeof(Event))));
    if (!body.is_valid()) throw nb::python_error();
    fleet.act(i64(count), mask, 0, sealed.data(), rounds.data(), arms.data, p.data);
    char* at = PyBytes_AsString(body.ptr());
    for (std::size_t k = 0; k < count; ++k, at += sizeof(Event)) {
        tickets.data[k] = ticket_of(u32(numbers.data()[k]), u32(rounds[k]));
        const Event event{u8(EventKind::act), u8(keyed), std::uint16_t(arms.data[k]), learner,
                          tickets.data[k],    p.data[k]};
        std::memcpy(at, &event, sizeof event);
    }
    return nb::make_tuple(tickets.give(), arms.give(), p.give(), body);
}

/// Process one feedback, which settles a pending decision; returns its `Standing` before.
int settle_one(nb::object held, u64 ticket, i64 arm, double p, double value) {
    Fleet& fleet = nb::cast<Fleet&>(held);
    const i64 place = fleet.open.find(ticket);
    if (place < 0) return int(Standing::closed);
    const Standing found = standing(fleet.open.at(place), arm, p);
    if (found == Standing::open)
        require(fleet.settle({&ticket, 1}, &value).why == Refusal::none,
                "a pending decision could not be settled");
    return int(found);
}

/// Probabilities of a learner's next draw, with or without pending decisions; the state is unchanged.
nb::object next_weights(nb::object held, i64 number, nb::object awake) {
    Fleet& fleet = nb::cast<Fleet&>(held);
    require(number >= 0 && fleet.rows.has(u64(number)), "invalid learner id");
    Mask kept;
    const bool* mask = nullptr;
    if (!awake.is_none()) {
        kept = nb::cast<Mask>(awake);
        require(i64(kept.size()) == fleet.setup.n, "awake must have one entry per arm");
        mask = kept.data();
    }
    Fresh<double> p{std::size_t(fleet.setup.n)};
    next_weights_of(fleet, u64(number), mask, p.data);
    return p.give();
}

}  // namespace

void bind_journal(nb::module_& m) {
    nb::enum_<EventKind>(m, "EventKind")
        .value("act", EventKind::act)
        .value("observe", EventKind::observe)
        .value("expire", EventKind::expire)
        .value("note", EventKind::note)
        .value("born", EventKind::born)
        .value("slate", EventKind::slate)
        .value("slate_observe", EventKind::slate_observe)
        .value("slate_expire", EventKind::slate_expire);
    nb::enum_<Standing>(m, "Standing")
        .value("closed", Standing::closed)
        .value("open", Standing::open)
        .value("altered", Standing::altered);
    m.def("replay_journal", &replay_journal, "unkeyed"_a, "keyed"_a.none(), "events"_a, "awake"_a.none(),
          "table"_a.none(), "sequences"_a);
    m.def("replay_probabilities", &replay_probabilities, "fleet"_a, "events"_a, "awake"_a.none());
    m.def("open_decisions", &open_decisions, "fleet"_a, "tickets"_a, "arms"_a, "probabilities"_a);
    m.def("still_open", &still_open, "fleet"_a, "tickets"_a);
    m.def("draw_one", &draw_one, "fleet"_a, "number"_a, "awake"_a.none());
    m.def("draw_many", &draw_many, "fleet"_a, "numbers"_a, "awake"_a.none(), "learner"_a, "keyed"_a);
    m.def("settle_one", &settle_one, "fleet"_a, "ticket"_a, "arm"_a, "probability"_a, "value"_a);
    m.def("next_weights", &next_weights, "fleet"_a, "number"_a, "awake"_a.none());
}

}  // namespace hn
