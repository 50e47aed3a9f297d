// Player of the engine: a run with its pending moves, and the functions that other bindings call on a player object.
#pragma once

#include <nanobind/nanobind.h>

#include <cmath>
#include <optional>

#include "../players.hpp"
#include "../players/evidence.hpp"
#include "../players/pending_moves.hpp"
#include "arrays.hpp"
#include "setup.hpp"

namespace hn {

/// Return the run of a player object, valid while the object lives. Raises an error for other objects.
AtPlay& at_play(nb::handle player);
/// Lock the player against a second caller while the result lives.
Busy alone(nb::handle player);
/// Re-raise the exception of a user-defined smoothing, if a step failed because of it.
void raise_if_foreign(nb::handle player);
/// Count rounds that were played without a ticket; `delay` is the largest delay among them.
void count_rounds(nb::handle player, i64 more, i64 delay = 0);
i64 largest_delay(nb::handle player);

using Ticket = PendingMove<nb::object>;

/// Pending moves of a player whose moves are named tuples of Python.
class Book : public PendingMoves<nb::object> {
public:
    Book(nb::object id, nb::object move_type) : id_(std::move(id)), type_(std::move(move_type)) {
        require(PyType_Check(type_.ptr()) &&
                    PyObject_IsSubclass(type_.ptr(), reinterpret_cast<PyObject*>(&PyTuple_Type)) == 1,
                "move_type must be a subclass of tuple");
        places_ = i64(nb::len(nb::object(type_.attr("_fields"))));
        require(places_ >= 3 && places_ <= 5,
                "move_type must have 3 to 5 fields: id, round, action and optional numbers");
        // From Python 3.14 on a tuple stores its hash, which only tuple.__new__ initializes.
        if (Py_Version < 0x030e0000)
            alloc_ = reinterpret_cast<allocfunc>(
                PyType_GetSlot(reinterpret_cast<PyTypeObject*>(type_.ptr()), Py_tp_alloc));
    }

    const nb::object& id() const { return id_; }
    void rename(nb::object id) { id_ = std::move(id); }
    /// Issue the ticket of the next round; `action` is the action field of the Move.
    Ticket& issue(nb::object action, i64 number, double probability, double weight) {
        return PendingMoves::issue(made(std::move(action), drawn + 1, probability), number, probability, weight);
    }
    using PendingMoves::find;
    /// Return the pending ticket of this Move object (by identity), or null.
    Ticket* find(nb::handle move) {
        if (Ticket* last = newest(); last && last->move.ptr() == move.ptr()) return last;
        if (!has_older()) return nullptr;
        if (!PyTuple_Check(move.ptr()) || PyTuple_Size(move.ptr()) < 2) return nullptr;
        const i64 round = PyLong_AsLongLong(PyTuple_GetItem(move.ptr(), 1));
        if (PyErr_Occurred()) PyErr_Clear();
        Ticket* found = find(round);
        return found && found->move.ptr() == move.ptr() ? found : nullptr;
    }
    /// Make a Move; its fourth field, if any, is the probability of the action, or a distance.
    nb::object made(nb::object action, i64 round, double number) {
        if (!alloc_) return made_slowly(std::move(action), round, number);
        nb::object move = nb::steal(alloc_(reinterpret_cast<PyTypeObject*>(type_.ptr()), places_));
        if (!move.is_valid()) throw nb::python_error();
        // A move of strings and numbers cannot be part of a cycle.
        if (PyLong_CheckExact(action.ptr())) PyObject_GC_UnTrack(move.ptr());
        nb::object number_of_round = nb::steal(PyLong_FromLongLong(round));
        nb::object last = places_ >= 4 ? nb::steal(PyFloat_FromDouble(number)) : nb::object();
        if (!number_of_round.is_valid() || (places_ >= 4 && !last.is_valid())) throw nb::python_error();
        PyTuple_SetItem(move.ptr(), 0, nb::object(id_).release().ptr());
        PyTuple_SetItem(move.ptr(), 1, number_of_round.release().ptr());
        PyTuple_SetItem(move.ptr(), 2, action.release().ptr());
        if (places_ >= 4) PyTuple_SetItem(move.ptr(), 3, last.release().ptr());
        if (places_ == 5) PyTuple_SetItem(move.ptr(), 4, nb::none().release().ptr());
        return move;
    }

private:
    nb::object made_slowly(nb::object action, i64 round, double number) {
        const auto make = reinterpret_cast<newfunc>(PyType_GetSlot(&PyTuple_Type, Py_tp_new));
        const nb::tuple places = places_ == 5   ? nb::make_tuple(id_, round, action, number, nb::none())
                                 : places_ == 4 ? nb::make_tuple(id_, round, action, number)
                                                : nb::make_tuple(id_, round, action);
        nb::object move = nb::steal(
            make(reinterpret_cast<PyTypeObject*>(type_.ptr()), nb::make_tuple(places).ptr(), nullptr));
        if (!move.is_valid()) throw nb::python_error();
        return move;
    }

    nb::object id_, type_;
    i64 places_;
    allocfunc alloc_ = nullptr;
};

class Player : public Book {
public:
    std::shared_ptr<void> keeps;
    nb::object description;  // keeps the setup alive
    Description* d;
    Room room;
    AtPlay at;
    bool sees_all;
    /// All pending tickets up to this round store their numbers, so `keep_others` visits later tickets only.
    i64 numbered_up_to = 0;
    /// Number of tickets that `keep_others` has visited, for tests of the cost of late settlement.
    i64 visited = 0;
    /// Evidence about the arms, if the player was started with it; draw numbers are rounds.
    std::optional<Evidence> evidence;

    Player(nb::object described, In<u64> words, In<u64> noise, nb::object id, nb::object move_type)
        : Book(std::move(id), std::move(move_type)), description(described),
          d(nb::cast<Description*>(described)), room(3 * aligned_room(d->setup)) {
        require(words.size() == 4 && (noise.size() == 4 || noise.size() == 0),
                "words and noise must have four entries");
        at.setup = d->setup;
        sees_all = at.setup.setting == Setting::experts;
        const i64 size = aligned_room(at.setup);
        at.run.lay_out(at.setup, room.at(0));
        at.before.lay_out(at.setup, room.at(size));
        at.twin.lay_out(at.setup, room.at(2 * size));
        at.run.stream = words_at(words.data());
        if (noise.size() == 4) at.run.noise = words_at(noise.data());
        if (!players().begin(at.setup, at.run)) failed();
    }

    [[noreturn]] void failed() {
        raise_if_foreign(*d);
        PyErr_SetString(PyExc_ArithmeticError, "the smoothing has no solution at these losses");
        throw nb::python_error();
    }
    Busy alone() {
        return Busy(busy_, "a player must be used by one caller at a time; another call is in progress");
    }
    i64 n() const { return at.setup.n; }

    /// Copy of the current distribution.
    Numbers distribution_now() const {
        auto p = std::make_shared<std::vector<double>>(std::size_t(n()));
        for (i64 i = 0; i < n(); ++i) (*p)[std::size_t(i)] = at.run.w[i] / at.run.total;
        return p;
    }
    bool has_baselines() const { return at.setup.has_baselines(); }
    /// Store the distribution with all pending moves but one, before the run changes it.
    void keep_others(i64 but) {
        Numbers shared;
        each_after(numbered_up_to, [&](Ticket& ticket) {
            ++visited;
            if (ticket.round == but || ticket.numbers) return;
            if (!shared) shared = distribution_now();
            ticket.numbers = shared;
        });
    }
    void keep_all() {
        keep_others(0);
        numbered_up_to = drawn;
    }
    void keep_baselines() {
        Ticket* last = find(drawn);
        if (last && !last->numbers && last->plain)
            last->numbers = std::make_shared<std::vector<double>>(at.run.scratch, at.run.scratch + n());
    }

    // Draws

    nb::object act_expert() {
        const Busy here = alone();
        if (open() > 0 && at.setup.schedule.b != 0.0) keep_all();
        const i64 i = players().act_expert(at);
        if (i < 0) failed();
        return issue(nb::steal(PyLong_FromLongLong(i)), i, at.run.probability, at.run.weight).move;
    }
    nb::object act_arm() {
        const Busy here = alone();
        if (open() > 0 && has_baselines()) keep_baselines();
        const i64 i = players().act_arm(at);
        if (i < 0) failed();
        if (__builtin_expect(evidence.has_value(), 0)) {
            for (i64 k = 0; k < n(); ++k)
                shares_[std::size_t(k)] = floored(at.setup, at.run.w[k] / at.run.total, double(at.run.round));
            count_draw(i);
        }
        return issue(nb::steal(PyLong_FromLongLong(i)), i, at.run.probability, at.run.weight).move;
    }
    /// `advice` was checked by Python: a flat array of int64 actions or float64 distributions.
    nb::object act_on_advice(nb::object advice) {
        const Busy here = alone();
        const i64 i = players().act_on_advice(at, heard(advice));
        if (i < 0) failed();
        Ticket& ticket = issue(nb::steal(PyLong_FromLongLong(i)), i, at.run.probability, at.run.weight);
        ticket.kept = std::move(advice);
        return ticket.move;
    }
    nb::object act_awake(nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> awake,
                         nb::object mask) {
        const Busy here = alone();
        require(i64(awake.size()) == n(), "awake must have one entry per arm");
        if (open() > 0 && sees_all && at.setup.schedule.b != 0.0) keep_all();
        std::vector<double> p(std::size_t(n()), 0.0);
        const i64 i = players().act_awake(at, awake.data(), p.data());
        if (i < 0) failed();
        if (evidence) {
            shares_ = p;
            count_draw(i);
        }
        Ticket& ticket =
            issue(nb::steal(PyLong_FromLongLong(i)), i, at.run.probability, 1.0 / at.run.probability);
        ticket.plain = false;
        ticket.kept = sees_all ? nb::make_tuple(mask, array_of(p.data(), n())) : nb::make_tuple(mask);
        return ticket.move;
    }

    Heard heard(const nb::object& advice) const {
        Heard h;
        const i64 actions = at.setup.actions;
        nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> rows;
        if (!advice.is_valid() || !nb::try_cast(advice, rows))
            throw nb::value_error("advice must be a flat array");
        if (rows.dtype() == nb::dtype<double>()) {
            require(i64(rows.size()) == n() * actions,
                    "advice of distributions must have one number per expert and action");
            h.shares = static_cast<const double*>(rows.data());
        } else {
            require(rows.dtype() == nb::dtype<i64>() && i64(rows.size()) == n(),
                    "advice must be one action per expert");
            h.actions = static_cast<const i64*>(rows.data());
            for (i64 i = 0; i < n(); ++i)
                require(h.actions[i] >= 0 && h.actions[i] < actions,
                        "advice must be actions between 0 and actions - 1");
        }
        return h;
    }

    // Losses

    /// Settle a round. Returns -1, or the position of the first bad loss.
    i64 settle_row(Ticket& ticket, const double* losses) {
        const Busy here = alone();
        const i64 round = ticket.round;
        const Numbers own = ticket.numbers;
        if (open() > 1) {
            // Check the losses before the state changes.
            const i64 wrong = players().first_bad(at.setup, losses);
            if (wrong >= 0) return wrong;
            keep_others(round);
        }
        const i64 bad = players().observe_row(at, losses, own ? own->data() : nullptr);
        if (bad >= 0) return bad;
        if (bad == -2) failed();
        close(round);
        numbered_up_to = drawn;  // settled last: a move whose settlement fails stays pending
        return -1;
    }
    bool settle_arm(Ticket& ticket, double loss) {
        const Busy here = alone();
        const i64 round = ticket.round;
        if (!(at.setup.low <= loss && loss <= at.setup.high)) return false;
        if (has_baselines() && ticket.numbers) {
            keep_baselines();
            const Numbers kept = ticket.numbers;
            for (i64 i = 0; i < n(); ++i) at.run.scratch[i] = (*kept)[std::size_t(i)];
        }
        const Status status =
            players().observe_arm(at, ticket.action, ticket.probability, ticket.weight, loss);
        if (status == Status::bad_loss) return false;
        if (status == Status::failed) failed();
        count_loss(ticket, loss);
        close(round);
        return true;
    }
    bool settle_on_advice(Ticket& ticket, double loss) {
        const Busy here = alone();
        const Status status =
            players().observe_on_advice(at, heard(ticket.kept), ticket.action, ticket.weight, loss);
        if (status == Status::bad_loss) return false;
        if (status == Status::failed) failed();
        close(ticket.round);
        return true;
    }
    bool settle_awake(Ticket& ticket, const bool* awake, double loss) {
        const Busy here = alone();
        const Status status = players().observe_awake(at, awake, ticket.action, ticket.weight, loss);
        if (status == Status::bad_loss) return false;
        if (status == Status::failed) failed();
        count_loss(ticket, loss);
        close(ticket.round);
        return true;
    }

    // Evidence

    void keep_evidence(Evidence table) {
        require(!sees_all && at.setup.setting == Setting::bandit, "evidence is supported for bandits only");
        require(table.arms.size() == std::size_t(n()) && i64(table.draws) == drawn && i64(table.pending) == open() + forgotten,
                "corrupt evidence: it differs from the moves of the player");
        evidence = std::move(table);
        shares_.assign(std::size_t(n()), 0.0);
    }

    // Properties

    nb::object distribution(nb::object awake) {
        const Busy here = alone();
        // Evaluated on a copy: with pending moves the weights may have the scale of an earlier round until the next act().
        Run& run = at.before;
        run.copy(at.setup, at.run);
        if (open() > 0 && !players().make_ready(at.setup, run, false)) failed();
        Fresh<double> p{std::size_t(n())};
        if (awake.is_none()) {
            for (i64 i = 0; i < n(); ++i)
                p.data[i] = floored(at.setup, run.w[i] / run.total, double(run.round) + 1.0);
        } else {
            const auto mask =
                nb::cast<nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(awake);
            require(i64(mask.size()) == n(), "awake must have one entry per arm");
            players().share_awake(at.setup, run, mask.data(), p.data);
        }
        return p.give();
    }
    Ticket& ticket_of(i64 round) {
        Ticket* found = find(round);
        require(found != nullptr, "the move of this round is not pending");
        return *found;
    }

private:
    bool busy_ = false;
    std::vector<double> shares_;  // probabilities of a draw, if there is evidence

    void count_draw(i64 arm) {
        shares_[std::size_t(arm)] = at.run.probability;
        evidence->act(shares_.data(), std::size_t(arm));
        evidence->watch();
    }
    void count_loss(const Ticket& ticket, double loss) {
        if (__builtin_expect(!evidence, 1)) return;
        const double x = (loss - at.setup.origin) * at.setup.slope;
        evidence->settle(Evidence::version_of(u64(ticket.round)), std::size_t(ticket.action), ticket.probability, x);
        evidence->watch();
    }
};

/// A table of evidence as bytes, and back; corrupt bytes raise ValueError.
std::string bytes_of(const Evidence& table);
Evidence evidence_of(const char* bytes, std::size_t size);

// Methods of a live player as plain CPython methods, without nanobind.

extern PyType_Slot live_methods[];

}  // namespace hn
