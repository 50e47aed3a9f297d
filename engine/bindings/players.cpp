// hannan._engine.Book and .Player: pending moves, and players. act and observe are in live.cpp.
#include "player.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "fields.hpp"
#include "registration.hpp"

namespace hn {
namespace {

nb::object open_moves(Book& book) {
    nb::list found;
    book.each([&](Ticket& ticket) { found.append(ticket.move); });
    return nb::tuple(found);
}

nb::dict saved(Player& player) {
    nb::dict out = fields_of(player.at.setup, player.at.run);
    out["drawn"] = player.drawn;
    out["forgotten"] = player.forgotten;
    out["largest_delay"] = player.largest_delay;
    nb::list tickets;
    player.each([&](Ticket& ticket) {
        nb::dict one;
        one["move"] = ticket.move;
        one["weight"] = ticket.weight;
        one["plain"] = ticket.plain;
        one["numbers"] = ticket.numbers ? array_of(ticket.numbers->data(), player.n()) : nb::none();
        one["kept"] = ticket.kept.is_valid() ? ticket.kept : nb::none();
        tickets.append(one);
    });
    out["open"] = tickets;
    return out;
}

/// All fields are checked before any is stored.
void resume(Player& player, nb::dict from) {
    const Busy here = player.alone();
    const Setup& s = player.at.setup;
    Run& run = player.at.before;  // already checked
    run.copy(s, player.at.run);
    read_fields(s, run, from, player.sees_all);
    const i64 drawn = whole(from, "drawn", 0, i64(1) << 53), forgotten = whole(from, "forgotten", 0, drawn);
    const i64 delay = whole(from, "largest_delay", 0, drawn);
    must(run.round == drawn, "round", "must be the number of moves drawn");
    check_identity(run, player.at.run.start, player.sees_all && !s.is(Memory::adahedge));
    must_agree(s, run, player.at.twin);
    const Book before = player;  // previous state, in case a ticket is rejected
    player.clear();
    player.drawn = drawn;
    i64 numbered_up_to = drawn;
    try {
        for (nb::handle item : nb::cast<nb::list>(from["open"])) {
            nb::dict one = nb::cast<nb::dict>(item);
            nb::object move = one["move"];
            const i64 round = nb::cast<i64>(move[1]), action = nb::cast<i64>(move[2]);
            const double p = nb::cast<double>(move[3]), weight = nb::cast<double>(one["weight"]);
            must(action >= 0 && action < s.actions, "an open move",
                 "must have an action between 0 and actions - 1");
            must(p > 0.0 && p <= 1.0, "the probability of an open move", "must be in (0, 1]");
            must(weight >= 0.0 && std::isfinite(weight), "the weight of an open move", "must be finite and >= 0");
            const bool own = s.estimator == Estimator::foreign;
            must(s.setting == Setting::experts || own || weight > 0.0, "the weight of an open move",
                 "must be > 0");
            must(!s.is(Memory::lb_inf) || weight >= 1.0 - 1e-9, "the weight of an open move",
                 "must be 1/p, which is >= 1");
            Ticket& ticket = player.restore(move, round);
            ticket.action = action;
            ticket.probability = p;
            ticket.weight = weight;
            ticket.plain = nb::cast<bool>(one["plain"]);
            if (!one["numbers"].is_none()) {
                const auto numbers = nb::cast<In<double>>(one["numbers"]);
                must(i64(numbers.size()) == s.n, "numbers of an open move", "must be one per arm");
                for (std::size_t k = 0; k < numbers.size(); ++k)
                    must(own ? std::isfinite(numbers.data()[k])
                             : numbers.data()[k] >= 0.0 && numbers.data()[k] <= 1.0,
                         "numbers of an open move", own ? "must be finite" : "must be in [0, 1]");
                ticket.numbers = std::make_shared<std::vector<double>>(numbers.data(), numbers.data() + s.n);
            } else {
                numbered_up_to = std::min(numbered_up_to, round - 1);
            }
            if (!one["kept"].is_none()) ticket.kept = nb::borrow(one["kept"]);
            if (s.setting == Setting::expert_bandit) player.heard(ticket.kept);
        }
        must(player.open() + forgotten <= drawn, "open moves", "must be at most the number of moves drawn");
    } catch (...) {
        static_cast<Book&>(player) = before;
        throw;
    }
    player.forgotten = forgotten;
    player.largest_delay = delay;
    player.numbered_up_to = numbered_up_to;
    player.at.run.copy(s, run);
}

}  // namespace

AtPlay& at_play(nb::handle player) { return nb::cast<Player&>(player).at; }
Busy alone(nb::handle player) { return nb::cast<Player&>(player).alone(); }
void raise_if_foreign(nb::handle player) { raise_if_foreign(*nb::cast<Player&>(player).d); }
void count_rounds(nb::handle player, i64 more, i64 delay) {
    Player& counted = nb::cast<Player&>(player);
    counted.drawn += more;
    counted.largest_delay = std::max(counted.largest_delay, delay);
}

i64 largest_delay(nb::handle player) { return nb::cast<Player&>(player).largest_delay; }

void bind_players(nb::module_& m) {
    nb::class_<Book>(m, "Book", "Pending moves of a player.")
        .def(nb::init<nb::object, nb::object>(), "id"_a, "move_type"_a)
        .def_prop_rw("id", &Book::id, &Book::rename)
        .def_ro("round", &Book::drawn, "Number of moves drawn.")
        .def_ro("_forgotten", &Book::forgotten)
        .def_ro("_largest_delay", &Book::largest_delay)
        .def_prop_ro("_settled", &Book::settled)
        .def_prop_ro("_open_count", &Book::open)
        .def_prop_ro("open_moves", &open_moves, "Moves that await feedback.")
        .def(
            "_issue",
            [](Book& book, nb::object action, nb::object last, nb::object kept, nb::object whole) {
                const bool number = PyFloat_CheckExact(last.ptr());
                Ticket& ticket = book.issue(std::move(action), -1, number ? nb::cast<double>(last) : 0.0, 0.0);
                // The move has no other owner yet, as PyTuple_SetItem requires.
                if (!number && PyTuple_SetItem(ticket.move.ptr(), 3, last.release().ptr())) throw nb::python_error();
                if (!whole.is_none() && PyTuple_SetItem(ticket.move.ptr(), 4, whole.release().ptr())) throw nb::python_error();
                ticket.kept = std::move(kept);
                return ticket.move;
            },
            "action"_a, "last"_a, "kept"_a.none(), "whole"_a = nb::none(),
            "Issue the ticket of the next round; `last` and `whole` are the fourth and fifth field of the move, if it has "
            "them.")
        .def(
            "_open_move",
            [](Book& book, i64 round) -> nb::object {
                Ticket* found = book.find(round);
                return found ? found->move : nb::none();
            },
            "round"_a, "Pending move of a round, or None.")
        .def(
            "_kept",
            [](Book& book, i64 round) -> nb::object {
                Ticket* found = book.find(round);
                return found && found->kept.is_valid() ? found->kept : nb::none();
            },
            "round"_a, "Object stored with the pending move of a round.")
        .def("_close", &Book::close, "round"_a)
        .def("_forget", &Book::forget, "round"_a)
        .def(
            "_resume_book",
            [](Book& book, i64 drawn, i64 forgotten, i64 delay, nb::list open) {
                must(0 <= drawn && drawn <= i64(1) << 53, "drawn", "must be an integer between 0 and 2^53");
                must(0 <= forgotten && forgotten <= drawn && 0 <= delay && delay <= drawn, "counts",
                     "must be at most the number of moves drawn");
                must(i64(nb::len(open)) + forgotten <= drawn, "open moves",
                     "must be at most the number of moves drawn");
                const Book before = book;  // previous state, in case a ticket is rejected
                try {
                    book.clear();
                    book.drawn = drawn;
                    book.forgotten = forgotten;
                    book.largest_delay = delay;
                    for (nb::handle item : open) {
                        auto [move, kept] = nb::cast<std::tuple<nb::object, nb::object>>(item);
                        book.restore(move, nb::cast<i64>(move[1])).kept = kept;
                    }
                } catch (...) {
                    book = before;
                    throw;
                }
            },
            "drawn"_a, "forgotten"_a, "largest_delay"_a, "open"_a,
            "Restore the pending moves of a file, given as pairs (move, kept).")
        .def(
            "_count_settled",
            [](Book& book, i64 more) {
                require(more >= 0, "the number of rounds must be >= 0");
                book.drawn += more;
            },
            "more"_a, "Count rounds that were played without a ticket.");
    nb::class_<Player, Book> player(m, "Player", nb::type_slots(live_methods),
                                    "A run with its pending moves.");
    player
        .def(nb::init<nb::object, In<u64>, In<u64>, nb::object, nb::object>(), "setup"_a, "words"_a,
             "noise"_a, "id"_a, "move_type"_a)
        .def("_act_on_advice", &Player::act_on_advice, "advice"_a)
        .def("_act_among", &Player::act_awake, "awake"_a, "mask"_a)
        .def(
            "_settle_row",
            [](Player& p, i64 round, In<double> losses) {
                require(i64(losses.size()) == p.n(), "losses must have one entry per expert");
                return p.settle_row(p.ticket_of(round), losses.data());
            },
            "round"_a, "losses"_a, "Settle a round. Returns -1, or the position of the first bad loss.")
        .def(
            "_settle_arm",
            [](Player& p, i64 round, double loss) { return p.settle_arm(p.ticket_of(round), loss); },
            "round"_a, "loss"_a)
        .def(
            "_settle_on_advice",
            [](Player& p, i64 round, double loss) { return p.settle_on_advice(p.ticket_of(round), loss); },
            "round"_a, "loss"_a)
        .def(
            "_settle_among",
            [](Player& p, i64 round,
               nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> awake, double loss) {
                require(i64(awake.size()) == p.n(), "awake must have one entry per arm");
                return p.settle_awake(p.ticket_of(round), awake.data(), loss);
            },
            "round"_a, "awake"_a, "loss"_a)
        .def(
            "_keep_evidence",
            [](Player& p, nb::object saved) {
                const Busy here = p.alone();
                if (saved.is_none()) return p.keep_evidence(Evidence{std::size_t(p.n())});
                const auto bytes = nb::cast<nb::bytes>(saved);
                p.keep_evidence(evidence_of(bytes.c_str(), bytes.size()));
            },
            "saved"_a.none(), "Keep evidence about the arms, starting now or from a saved table.")
        .def_prop_ro("_evidence",
                     [](Player& p) -> nb::object {
                         const Busy here = p.alone();
                         return p.evidence ? nb::cast(Evidence(*p.evidence)) : nb::none();
                     })
        .def("_distribution", &Player::distribution, "awake"_a.none())
        .def(
            "_is_plain", [](Player& p, i64 round) { return p.ticket_of(round).plain; }, "round"_a)
        .def(
            "_put",
            [](Player& p, In<double> losses) {
                require(i64(losses.size()) == p.n(), "losses must be one per arm");
                const Busy here = p.alone();
                for (i64 i = 0; i < p.n(); ++i) p.at.run.L[i] = losses.data()[i];
                if (!players().begin(p.at.setup, p.at.run)) p.failed();
            },
            "losses"_a, "Set the cumulative losses, for tests. The weights are computed from them.")
        .def("_saved", &saved)
        .def("_restore", &resume, "fields"_a)
        .def_prop_ro("_words",
                     [](Player& p) {
                         const Words &a = p.at.run.stream, &b = p.at.run.noise;
                         const u64 both[8] = {a.a, a.b, a.c, a.d, b.a, b.b, b.c, b.d};
                         Fresh<u64> out(2, 4);
                         for (int k = 0; k < 8; ++k) out.data[k] = both[k];
                         return out.give();
                     })
        .def("_set_words",
             [](Player& p, In<u64> stream, In<u64> noise) {
                 require(stream.size() == 4 && noise.size() == 4, "words and noise must have four entries");
                 const Busy here = p.alone();
                 p.at.run.stream = words_at(stream.data());
                 p.at.run.noise = words_at(noise.data());
             })
        .def_ro("_visited", &Player::visited, "Number of open tickets that late settlement has visited.")
        .def_prop_ro("_losses", [](Player& p) { return array_of(p.at.run.L, p.n()); })
        .def(
            "_settle_untold",
            [](Player& p, In<double> losses, nb::object ticket, i64 delay) {
                require(p.sees_all && i64(losses.size()) == p.n(),
                        "losses must have one entry per expert, and the learner must observe all losses");
                const Busy here = p.alone();
                In<double> drawn_from;
                if (!ticket.is_none()) {
                    drawn_from = nb::cast<In<double>>(ticket);
                    require(i64(drawn_from.size()) == p.n(), "distribution must have one number per expert");
                }
                ++p.at.run.round;
                const i64 bad = players().observe_row(p.at, losses.data(),
                                                      ticket.is_none() ? nullptr : drawn_from.data());
                if (bad == -2) p.failed();
                require(bad == -1, "losses must be in the loss range");
                p.drawn += 1;
                p.largest_delay = std::max(p.largest_delay, delay);
            },
            "losses"_a, "distribution"_a.none(), "delay"_a,
            "Settle a round that was played without a ticket.")
        .def_prop_ro("_adahedge",
                     [](Player& p) {
                         require(p.at.setup.is(Memory::adahedge), "these sums are available for AdaHedge only");
                         const auto& sums = *reinterpret_cast<const AdaHedgeSums*>(p.at.run.memory);
                         nb::dict out;
                         out["gap"] = sums.gap;
                         out["variance"] = sums.variance;
                         out["span"] = sums.span;
                         out["least"] = sums.min_losses;
                         out["most"] = sums.max_losses;
                         return out;
                     })
        .def_prop_ro("_memory",
                     [](Player& p) { return array_of(p.at.run.memory, p.at.setup.memory_places()); });
    player
        .def(
            "_close",
            [](Player& p, i64 round) {
                const Busy here = p.alone();
                p.close(round);
            },
            "round"_a)
        .def(
            "_forget",
            [](Player& p, i64 round) {
                const Busy here = p.alone();
                p.forget(round);
            },
            "round"_a);
#define HN_NUMBER(name) player.def_prop_ro("_" #name, [](Player& p) { return p.at.run.name; })
    HN_NUMBER(own);
    HN_NUMBER(scale);
    HN_NUMBER(total);
    HN_NUMBER(value);
    HN_NUMBER(start);
    HN_NUMBER(drift);
    HN_NUMBER(change);
    HN_NUMBER(level);
    HN_NUMBER(probability);
#undef HN_NUMBER
    m.def(
        "charge_sleepers",
        [](In<double> p, nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> awake,
           Out<double> losses) {
            require(p.size() == awake.size() && p.size() == losses.size(),
                    "p, awake and losses must have the same length");
            players().charge_sleepers(p.data(), awake.data(), losses.data(), i64(p.size()));
        },
        "p"_a, "awake"_a, "losses"_a, "Give unavailable arms the loss <p, l> of the available arms.");
}

}  // namespace hn
