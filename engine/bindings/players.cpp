// hannan._engine.Book and .Player: tickets out, losses in. What is usual is done here; whatever is not (another kind of
// number, a stranger's ticket, a loss out of range) is handed to the slow methods of the Python class, which have the words.
#include "../players.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "book.hpp"
#include "fields.hpp"
#include "players.hpp"
#include "rooms.hpp"
#include "setup.hpp"

namespace hn {
namespace {

/// The numbers of a contiguous float64 array of n, or null; the array must outlive them.
class Row {
    Py_buffer view_{};
    bool held_ = false;

public:
    const double* data = nullptr;

    Row(nb::handle object, i64 n) {
        // An array of NumPy itself: a subclass may mean something by it (a mask) that its buffer does not say.
        static PyObject* const exactly = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
        if (reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) != exactly) return;
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FORMAT | PyBUF_ND) != 0) {
            PyErr_Clear();
            return;
        }
        held_ = true;
        const char* format = view_.format ? view_.format : "B";
        if (*format == '=' || *format == '@' || *format == '<') ++format;
        if (view_.ndim == 1 && view_.shape[0] == n && format[0] == 'd' && format[1] == 0)
            data = static_cast<const double*>(view_.buf);
    }
    Row(const Row&) = delete;
    ~Row() {
        if (held_) PyBuffer_Release(&view_);
    }
};

class Player : public Book {
public:
    std::shared_ptr<void> keeps;
    nb::object description;  // keeps the setup alive
    Description* d;
    Room room;
    AtPlay at;
    bool sees_all;

    Player(nb::object described, In<u64> words, In<u64> noise, nb::object id, nb::object move_type)
        : Book(std::move(id), std::move(move_type)), description(described), d(nb::cast<Description*>(described)),
          room(3 * aligned_room(d->setup)) {
        require(words.size() == 4 && (noise.size() == 4 || noise.size() == 0), "a stream has four words");
        at.setup = d->setup;
        sees_all = at.setup.setting == Setting::experts;
        const i64 size = aligned_room(at.setup);
        at.run.lay_out(at.setup, room.at(0)), at.before.lay_out(at.setup, room.at(size));
        at.twin.lay_out(at.setup, room.at(2 * size));
        at.run.stream = words_at(words.data());
        if (noise.size() == 4) at.run.noise = words_at(noise.data());
        if (!players().begin(at.setup, at.run)) failed();
    }

    [[noreturn]] void failed() {
        raise_if_foreign(*d);
        PyErr_SetString(PyExc_ArithmeticError, "the smoothing failed at these losses");
        throw nb::python_error();
    }
    i64 n() const { return at.setup.n; }

    /// p in place.
    Numbers distribution_now() const {
        auto p = std::make_shared<std::vector<double>>(std::size_t(n()));
        for (i64 i = 0; i < n(); ++i) (*p)[std::size_t(i)] = at.run.w[i] / at.run.total;
        return p;
    }
    bool reduced() const { return at.setup.estimator == Estimator::reduced_variance; }
    /// Open moves keep what the run will soon have no more: experts their distribution, bandits their baselines.
    void keep_others(i64 but) {
        Numbers shared;
        each([&](Ticket& ticket) {
            if (ticket.round == but || ticket.numbers) return;
            if (!shared) shared = distribution_now();
            ticket.numbers = shared;
        });
    }
    void keep_baselines() {
        Ticket* last = find(drawn);
        if (last && !last->numbers && last->plain)
            last->numbers = std::make_shared<std::vector<double>>(at.run.scratch, at.run.scratch + n());
    }

    // Draws

    nb::object act_expert() {
        if (open() > 0 && at.setup.schedule.b != 0.0) keep_others(0);
        const i64 i = players().act_expert(at);
        if (i < 0) failed();
        return issue(nb::steal(PyLong_FromLongLong(i)), i, at.run.probability, at.run.weight).move;
    }
    nb::object act_arm() {
        if (open() > 0 && reduced()) keep_baselines();
        const i64 i = players().act_arm(at);
        if (i < 0) failed();
        return issue(nb::steal(PyLong_FromLongLong(i)), i, at.run.probability, at.run.weight).move;
    }
    /// `advice` is checked and Python's to keep: int64 actions, or float64 shares, flat.
    nb::object act_on_advice(nb::object advice) {
        const i64 i = players().act_on_advice(at, heard(advice));
        if (i < 0) failed();
        Ticket& ticket = issue(nb::steal(PyLong_FromLongLong(i)), i, at.run.probability, at.run.weight);
        ticket.kept = std::move(advice);
        return ticket.move;
    }
    nb::object act_awake(nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> awake, nb::object mask) {
        require(i64(awake.size()) == n(), "a mask has a place an arm");
        if (open() > 0 && sees_all && at.setup.schedule.b != 0.0) keep_others(0);
        std::vector<double> p(std::size_t(n()), 0.0);
        const i64 i = players().act_awake(at, awake.data(), p.data());
        if (i < 0) failed();
        Ticket& ticket = issue(nb::steal(PyLong_FromLongLong(i)), i, at.run.probability, 1.0 / at.run.probability);
        ticket.plain = false;
        ticket.kept = sees_all ? nb::make_tuple(mask, array_of(p.data(), n())) : nb::make_tuple(mask);
        return ticket.move;
    }

    Heard heard(const nb::object& advice) const {
        Heard h;
        const i64 actions = at.setup.actions;
        nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> rows;
        if (!nb::try_cast(advice, rows)) throw nb::value_error("advice must be a flat array");
        if (rows.dtype() == nb::dtype<double>()) {
            require(i64(rows.size()) == n() * actions, "shares must be experts x actions");
            h.shares = static_cast<const double*>(rows.data());
        } else {
            require(rows.dtype() == nb::dtype<i64>() && i64(rows.size()) == n(), "advice must be an action an expert");
            h.actions = static_cast<const i64*>(rows.data());
            for (i64 i = 0; i < n(); ++i) require(h.actions[i] >= 0 && h.actions[i] < actions, "advice must be an action");
        }
        return h;
    }

    // Losses

    /// -1, or the place of a bad loss.
    i64 settle_row(Ticket& ticket, const double* losses) {
        const i64 round = ticket.round;
        const Numbers own = ticket.numbers;
        if (open() > 1) {
            // A bad loss is refused before anything is kept.
            const i64 wrong = players().first_bad(at.setup, losses);
            if (wrong >= 0) return wrong;
            keep_others(round);
        }
        const i64 bad = players().observe_row(at, losses, own ? own->data() : nullptr);
        if (bad >= 0) return bad;
        if (bad == -2) failed();
        close(round);
        return -1;
    }
    bool settle_arm(Ticket& ticket, double loss) {
        const i64 round = ticket.round;
        if (!(at.setup.low <= loss && loss <= at.setup.high)) return false;
        if (reduced() && ticket.numbers) {
            keep_baselines();
            const Numbers kept = ticket.numbers;
            for (i64 i = 0; i < n(); ++i) at.run.scratch[i] = (*kept)[std::size_t(i)];
        }
        const Status status = players().observe_arm(at, ticket.action, ticket.probability, ticket.weight, loss);
        if (status == Status::bad_loss) return false;
        if (status == Status::failed) failed();
        close(round);
        return true;
    }
    bool settle_on_advice(Ticket& ticket, double loss) {
        const Status status = players().observe_on_advice(at, heard(ticket.kept), ticket.action, ticket.weight, loss);
        if (status == Status::bad_loss) return false;
        if (status == Status::failed) failed();
        close(ticket.round);
        return true;
    }
    bool settle_awake(Ticket& ticket, const bool* awake, double loss) {
        const Status status = players().observe_awake(at, awake, ticket.action, ticket.weight, loss);
        if (status == Status::bad_loss) return false;
        if (status == Status::failed) failed();
        close(ticket.round);
        return true;
    }

    // What Python reads

    nb::object distribution(nb::object awake) {
        // On a copy: open moves may have left the weights a scale behind, and the next act() brings them up.
        Run& run = at.before;
        run.copy(at.setup, at.run);
        if (open() > 0 && !players().make_ready(at.setup, run, false)) failed();
        Fresh<double> p{std::size_t(n())};
        if (awake.is_none()) {
            for (i64 i = 0; i < n(); ++i) p.data[i] = run.w[i] / run.total;
        } else {
            const auto mask = nb::cast<nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(awake);
            require(i64(mask.size()) == n(), "a mask has a place an arm");
            players().share_awake(at.setup, run, mask.data(), p.data);
        }
        return p.give();
    }
    Ticket& ticket_of(i64 round) {
        Ticket* found = find(round);
        require(found != nullptr, "a ticket must be open");
        return *found;
    }
};

using Self = nb::pointer_and_handle<Player>;

nb::object act_expert(Self self, nb::handle awake) {
    if (!awake.is_none()) return self.h.attr("_act_awake")(awake);
    return self.p->act_expert();
}
nb::object act_arm(Self self, nb::handle awake) {
    if (!awake.is_none()) return self.h.attr("_act_awake")(awake);
    return self.p->act_arm();
}
void observe_row(Self self, nb::handle move, nb::handle losses) {
    Player& player = *self.p;
    Ticket* ticket = player.find(move);
    if (ticket && ticket->plain) {
        const Row row(losses, player.n());
        if (row.data && player.settle_row(*ticket, row.data) < 0) return;
    }
    self.h.attr("_observe_slowly")(move, losses);
}
void observe_arm(Self self, nb::handle move, nb::handle loss, nb::handle reward) {
    if (!reward.is_none()) {
        self.h.attr("_observe_reward")(move, loss, reward);
        return;
    }
    Ticket* ticket = self.p->find(move);
    if (ticket && ticket->plain && PyFloat_CheckExact(loss.ptr()) &&
        self.p->settle_arm(*ticket, PyFloat_AsDouble(loss.ptr())))
        return;
    self.h.attr("_observe_slowly")(move, loss);
}
void observe_on_advice(Self self, nb::handle move, nb::handle loss, nb::handle reward) {
    if (!reward.is_none()) {
        self.h.attr("_observe_reward")(move, loss, reward);
        return;
    }
    Ticket* ticket = self.p->find(move);
    if (ticket && PyFloat_CheckExact(loss.ptr()) && self.p->settle_on_advice(*ticket, PyFloat_AsDouble(loss.ptr()))) return;
    self.h.attr("_observe_slowly")(move, loss);
}

nb::object open_moves(Book& book) {
    nb::list found;
    book.each([&](Ticket& ticket) { found.append(ticket.move); });
    return nb::tuple(found);
}

nb::dict saved(Player& player) {
    nb::dict out = fields_of(player.at.setup, player.at.run);
    out["drawn"] = player.drawn, out["forgotten"] = player.forgotten, out["largest_delay"] = player.largest_delay;
    nb::list tickets;
    player.each([&](Ticket& ticket) {
        nb::dict one;
        one["move"] = ticket.move, one["weight"] = ticket.weight, one["plain"] = ticket.plain;
        one["numbers"] = ticket.numbers ? array_of(ticket.numbers->data(), player.n()) : nb::none();
        one["kept"] = ticket.kept.is_valid() ? ticket.kept : nb::none();
        tickets.append(one);
    });
    out["open"] = tickets;
    return out;
}

/// Everything is checked before anything is put in its place.
void resume(Player& player, nb::dict from) {
    const Setup& s = player.at.setup;
    Run& run = player.at.before;  // checked there first
    run.copy(s, player.at.run);
    read_fields(s, run, from, player.sees_all);
    const i64 drawn = whole(from, "drawn", 0, i64(1) << 53), forgotten = whole(from, "forgotten", 0, drawn);
    const i64 delay = whole(from, "largest_delay", 0, drawn);
    must(run.round == double(drawn), "round", "be the number of moves drawn");
    must_agree(s, run, player.at.twin);
    const Book before = player;  // what there was, should a ticket be refused
    player.clear();
    player.drawn = drawn;
    try {
        for (nb::handle item : nb::cast<nb::list>(from["open"])) {
            nb::dict one = nb::cast<nb::dict>(item);
            nb::object move = one["move"];
            const i64 round = nb::cast<i64>(move[1]), action = nb::cast<i64>(move[2]);
            const double p = nb::cast<double>(move[3]), weight = nb::cast<double>(one["weight"]);
            must(action >= 0 && action < s.actions, "an open move", "be of an action that there is");
            must(p > 0.0 && p <= 1.0, "the probability of an open move", "be in (0, 1]");
            must(weight >= 0.0 && std::isfinite(weight), "the weight of an open move", "be finite");
            must(s.setting == Setting::experts || weight > 0.0, "the weight of an open move", "be > 0");
            must(s.smoothing != Smoothing::lb_inf || weight >= 1.0 - 1e-9, "the weight of an open move", "be 1/p, at least 1");
            Ticket& ticket = player.restore(move, round);
            ticket.action = action, ticket.probability = p, ticket.weight = weight;
            ticket.plain = nb::cast<bool>(one["plain"]);
            if (!one["numbers"].is_none()) {
                const auto numbers = nb::cast<In<double>>(one["numbers"]);
                must(i64(numbers.size()) == s.n, "numbers of an open move", "be one an arm");
                for (std::size_t k = 0; k < numbers.size(); ++k)
                    must(numbers.data()[k] >= 0.0 && numbers.data()[k] <= 1.0, "numbers of an open move", "be in [0, 1]");
                ticket.numbers = std::make_shared<std::vector<double>>(numbers.data(), numbers.data() + s.n);
            }
            if (!one["kept"].is_none()) ticket.kept = nb::borrow(one["kept"]);
            if (s.setting == Setting::expert_bandit) player.heard(ticket.kept);
        }
        must(player.open() + forgotten <= drawn, "open moves", "be no more than were drawn");
    } catch (...) {
        static_cast<Book&>(player) = before;
        throw;
    }
    player.forgotten = forgotten, player.largest_delay = delay;
    player.at.run.copy(s, run);
}

}  // namespace

AtPlay& at_play(nb::handle player) { return nb::cast<Player&>(player).at; }
void count_rounds(nb::handle player, i64 more) { nb::cast<Player&>(player).drawn += more; }

void bind_players(nb::module_& m) {
    nb::class_<Book>(m, "Book", "The tickets of a player: open, late, forgotten.")
        .def(nb::init<nb::object, nb::object>(), "id"_a, "move_type"_a)
        .def_prop_rw("id", &Book::id, &Book::rename)
        .def_ro("round", &Book::drawn, "How many moves were drawn.")
        .def_ro("_forgotten", &Book::forgotten)
        .def_ro("_largest_delay", &Book::largest_delay)
        .def_prop_ro("_settled", &Book::settled)
        .def_prop_ro("_open_count", &Book::open)
        .def_prop_ro("open_moves", &open_moves, "The tickets whose loss has not come yet.")
        .def(
            "_issue",
            [](Book& book, nb::object action, double number, nb::object kept) {
                Ticket& ticket = book.issue(std::move(action), -1, number, 0.0);
                ticket.kept = std::move(kept);
                return ticket.move;
            },
            "action"_a, "number"_a, "kept"_a.none(),
            "A ticket for the next round; `number` is the fourth place of its move, where there is one.")
        .def(
            "_open_move",
            [](Book& book, i64 round) -> nb::object {
                Ticket* found = book.find(round);
                return found ? found->move : nb::none();
            },
            "round"_a, "The open move of a round, or None.")
        .def(
            "_kept",
            [](Book& book, i64 round) -> nb::object {
                Ticket* found = book.find(round);
                return found && found->kept.is_valid() ? found->kept : nb::none();
            },
            "round"_a, "What is kept with the open move of a round.")
        .def("_close", &Book::close, "round"_a)
        .def("_forget", &Book::forget, "round"_a)
        .def(
            "_resume_book",
            [](Book& book, i64 drawn, i64 forgotten, i64 delay, nb::list open) {
                must(0 <= drawn && drawn <= i64(1) << 53, "drawn", "be a whole number in its range");
                must(0 <= forgotten && forgotten <= drawn && 0 <= delay && delay <= drawn, "counts", "be at most the moves drawn");
                must(i64(nb::len(open)) + forgotten <= drawn, "open moves", "be no more than were drawn");
                const Book before = book;  // what there was, should a ticket be refused
                try {
                    book.clear();
                    book.drawn = drawn, book.forgotten = forgotten, book.largest_delay = delay;
                    for (nb::handle item : open) {
                        auto [move, kept] = nb::cast<std::tuple<nb::object, nb::object>>(item);
                        book.restore(move, nb::cast<i64>(move[1])).kept = kept;
                    }
                } catch (...) {
                    book = before;
                    throw;
                }
            },
            "drawn"_a, "forgotten"_a, "largest_delay"_a, "open"_a, "The book of a file; open moves are (move, kept).")
        .def(
            "_count_settled", [](Book& book, i64 more) { require(more >= 0, "rounds must be counted up"), book.drawn += more; },
            "more"_a, "So many rounds were drawn and settled without a ticket.");
    nb::class_<Player, Book> player(m, "Player", "A run at play, with its tickets.");
    player
        .def(nb::init<nb::object, In<u64>, In<u64>, nb::object, nb::object>(), "setup"_a, "words"_a, "noise"_a, "id"_a,
             "move_type"_a)
        .def("_act_expert", &act_expert, "awake"_a.none() = nb::none(), "Draw an expert; with `awake`, a mask of booleans, one of those awake.")
        .def("_act_arm", &act_arm, "awake"_a.none() = nb::none(), "Draw an arm; with `awake`, a mask of booleans, one of those awake.")
        .def("_act_on_advice", &Player::act_on_advice, "advice"_a)
        .def("_act_among", &Player::act_awake, "awake"_a, "mask"_a)
        .def("_observe_row", &observe_row, "move"_a.none(), "loss"_a.none(), "Settle a move with the losses of all experts.")
        .def("_observe_arm", &observe_arm, "move"_a.none(), "loss"_a.none() = nb::none(), nb::kw_only(),
             "reward"_a.none() = nb::none(), "Settle a move with the loss of its arm.")
        .def("_observe_on_advice", &observe_on_advice, "move"_a.none(), "loss"_a.none() = nb::none(), nb::kw_only(),
             "reward"_a.none() = nb::none(),
             "Settle a move with the loss of its action, on the advice that it was drawn with.")
        .def(
            "_settle_row",
            [](Player& p, i64 round, In<double> losses) {
                require(i64(losses.size()) == p.n(), "losses must be one an expert");
                return p.settle_row(p.ticket_of(round), losses.data());
            },
            "round"_a, "losses"_a, "-1, or the place of the first bad loss.")
        .def("_settle_arm", [](Player& p, i64 round, double loss) { return p.settle_arm(p.ticket_of(round), loss); },
             "round"_a, "loss"_a)
        .def("_settle_on_advice",
             [](Player& p, i64 round, double loss) { return p.settle_on_advice(p.ticket_of(round), loss); }, "round"_a,
             "loss"_a)
        .def(
            "_settle_among",
            [](Player& p, i64 round, nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> awake, double loss) {
                require(i64(awake.size()) == p.n(), "a mask has a place an arm");
                return p.settle_awake(p.ticket_of(round), awake.data(), loss);
            },
            "round"_a, "awake"_a, "loss"_a)
        .def("_distribution", &Player::distribution, "awake"_a.none())
        .def("_is_plain", [](Player& p, i64 round) { return p.ticket_of(round).plain; }, "round"_a)
        .def(
            "_put",
            [](Player& p, In<double> losses) {
                require(i64(losses.size()) == p.n(), "losses must be one an arm");
                for (i64 i = 0; i < p.n(); ++i) p.at.run.L[i] = losses.data()[i];
                if (!players().begin(p.at.setup, p.at.run)) p.failed();
            },
            "losses"_a, "Put cumulative losses in place, as tests do; the weights are made from them.")
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
                 require(stream.size() == 4 && noise.size() == 4, "a stream has four words");
                 p.at.run.stream = words_at(stream.data()), p.at.run.noise = words_at(noise.data());
             })
        .def_prop_ro("_losses", [](Player& p) { return array_of(p.at.run.L, p.n()); })
        .def(
            "_settle_untold",
            [](Player& p, In<double> losses, nb::object ticket, i64 delay) {
                require(p.sees_all && i64(losses.size()) == p.n(), "a row has a loss an expert");
                In<double> drawn_from;
                if (!ticket.is_none()) {
                    drawn_from = nb::cast<In<double>>(ticket);
                    require(i64(drawn_from.size()) == p.n(), "a distribution has a number an expert");
                }
                p.at.run.round += 1.0;
                const i64 bad = players().observe_row(p.at, losses.data(), ticket.is_none() ? nullptr : drawn_from.data());
                if (bad == -2) p.failed();
                require(bad == -1, "losses must be in their range");
                p.drawn += 1;
                p.largest_delay = std::max(p.largest_delay, delay);
            },
            "losses"_a, "distribution"_a.none(), "delay"_a, "A round that was answered without a ticket gets its losses.")
        .def_prop_ro(
            "_adahedge",
            [](Player& p) {
                require(p.at.setup.smoothing == Smoothing::adahedge, "only AdaHedge has these sums");
                const auto& sums = *reinterpret_cast<const AdaHedgeSums*>(p.at.run.memory);
                nb::dict out;
                out["gap"] = sums.gap, out["variance"] = sums.variance, out["span"] = sums.span;
                out["least"] = sums.least, out["most"] = sums.most;
                return out;
            })
        .def_prop_ro("_memory", [](Player& p) { return array_of(p.at.run.memory, p.at.setup.memory_places()); });
#define HN_NUMBER(name) player.def_prop_ro("_" #name, [](Player& p) { return p.at.run.name; })
    HN_NUMBER(own), HN_NUMBER(scale), HN_NUMBER(total), HN_NUMBER(value), HN_NUMBER(start), HN_NUMBER(drift);
    HN_NUMBER(change), HN_NUMBER(level), HN_NUMBER(probability);
#undef HN_NUMBER
    m.def(
        "charge_sleepers",
        [](In<double> p, nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> awake, Out<double> losses) {
            require(p.size() == awake.size() && p.size() == losses.size(), "p, awake and losses must be of one length");
            players().charge_sleepers(p.data(), awake.data(), losses.data(), i64(p.size()));
        },
        "p"_a, "awake"_a, "losses"_a, "Every sleeper gets the loss <p, l> of the awake.");
}

}  // namespace hn
