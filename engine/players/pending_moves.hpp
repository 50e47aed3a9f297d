// One ticket book for every player: who is open, who is late, who was forgotten.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "../bindings/arrays.hpp"

namespace hn {

using Numbers = std::shared_ptr<const std::vector<double>>;

/// A move that waits for its loss: the Move that Python has, what stands for 1/p, and what else settling it needs.
struct Ticket {
    nb::object move;
    i64 round = 0, action = 0;
    double probability = 0.0, weight = 0.0;
    bool plain = true;  // nothing unusual about it: no sleepers
    Numbers numbers;    // the distribution it was drawn from, or its baselines, where the run has others by now
    nb::object kept;    // what Python wants to have with it
};

class Book {
public:
    i64 drawn = 0, forgotten = 0, largest_delay = 0;

    Book(nb::object id, nb::object move_type) : id_(std::move(id)), type_(std::move(move_type)) {
        require(PyType_Check(type_.ptr()) && PyObject_IsSubclass(type_.ptr(), reinterpret_cast<PyObject*>(&PyTuple_Type)) == 1,
                "a move must be a tuple");
        places_ = i64(nb::len(nb::object(type_.attr("_fields"))));
        require(places_ == 3 || places_ == 4, "a move must say whose it is, its round, its action, and one number more at most");
        // From 3.14 on a tuple keeps its hash: one that is written after it was made would have a wrong one.
        if (Py_Version < 0x030e0000)
            alloc_ = reinterpret_cast<allocfunc>(PyType_GetSlot(reinterpret_cast<PyTypeObject*>(type_.ptr()), Py_tp_alloc));
    }

    const nb::object& id() const { return id_; }
    void rename(nb::object id) { id_ = std::move(id); }
    i64 open() const { return i64(late_.size()) + (last_.round > 0); }
    i64 settled() const { return drawn - open() - forgotten; }

    /// The ticket of the next round; `action` is what the Move says was chosen.
    Ticket& issue(nb::object action, i64 number, double probability, double weight) {
        if (last_.round > 0) {
            const i64 missing = open();
            largest_delay = std::max(largest_delay, missing);
            late_.emplace(last_.round, std::move(last_));
            last_ = Ticket{};
        }
        last_.move = made(std::move(action), drawn + 1, probability);
        last_.round = ++drawn, last_.action = number, last_.probability = probability, last_.weight = weight;
        return last_;
    }
    /// The open ticket of a round, or null.
    Ticket* find(i64 round) {
        if (last_.round == round && round > 0) return &last_;
        const auto found = late_.find(round);
        return found == late_.end() ? nullptr : &found->second;
    }
    /// The open ticket of this very Move object, or null: quick.
    Ticket* find(nb::handle move) {
        if (last_.round > 0 && last_.move.ptr() == move.ptr()) return &last_;
        if (late_.empty()) return nullptr;
        if (!PyTuple_Check(move.ptr()) || PyTuple_Size(move.ptr()) < 2) return nullptr;
        const i64 round = PyLong_AsLongLong(PyTuple_GetItem(move.ptr(), 1));
        if (PyErr_Occurred()) PyErr_Clear();
        Ticket* found = find(round);
        return found && found->move.ptr() == move.ptr() ? found : nullptr;
    }
    void close(i64 round) {
        if (last_.round != round) {
            late_.erase(round);
            return;
        }
        used_[1] = std::move(used_[0]), used_[0] = std::move(last_.move);
        last_ = Ticket{};
    }
    void forget(i64 round) { close(round), ++forgotten; }
    /// Every open ticket, from the first round on.
    template <class Visit> void each(Visit visit) { each_after(0, visit); }
    /// Every open ticket of a round after this one, in order of rounds.
    template <class Visit> void each_after(i64 round, Visit visit) {
        for (auto at = late_.upper_bound(round); at != late_.end(); ++at) visit(at->second);
        if (last_.round > round) visit(last_);
    }
    void clear() { late_.clear(), last_ = Ticket{}; }
    /// A ticket from a file: rounds ascend.
    Ticket& restore(nb::object move, i64 round) {
        require(round >= 1 && round <= drawn, "an open move must be of a round that was drawn");
        require(!find(round), "an open move must be there once");
        require(last_.round == 0 || last_.round < round, "open moves must ascend");
        if (last_.round > 0) late_.emplace(last_.round, std::move(last_));
        last_ = Ticket{};
        last_.move = std::move(move), last_.round = round;
        return last_;
    }
    /// The fourth place of a move is a number of its setting: the probability, or a distance; some have none.
    nb::object made(nb::object action, i64 round, double number) {
        if (!alloc_) return made_slowly(std::move(action), round, number);
        const bool plain = PyLong_CheckExact(action.ptr());
        nb::object move = plain ? forgotten_move() : nb::object();
        if (!move.is_valid()) {
            auto* type = reinterpret_cast<PyTypeObject*>(type_.ptr());
            move = nb::steal(alloc_(type, places_));
            if (!move.is_valid()) throw nb::python_error();
            if (plain) PyObject_GC_UnTrack(move.ptr());  // text and numbers: no cycle goes through it
        }
        nb::object number_of_round = nb::steal(PyLong_FromLongLong(round));
        nb::object last = places_ == 4 ? nb::steal(PyFloat_FromDouble(number)) : nb::object();
        if (!number_of_round.is_valid() || (places_ == 4 && !last.is_valid())) throw nb::python_error();
        PyTuple_SetItem(move.ptr(), 0, nb::object(id_).release().ptr());
        PyTuple_SetItem(move.ptr(), 1, number_of_round.release().ptr());
        PyTuple_SetItem(move.ptr(), 2, action.release().ptr());
        if (places_ == 4) PyTuple_SetItem(move.ptr(), 3, last.release().ptr());
        return move;
    }

private:
    nb::object made_slowly(nb::object action, i64 round, double number) {
        const auto make = reinterpret_cast<newfunc>(PyType_GetSlot(&PyTuple_Type, Py_tp_new));
        const nb::tuple places = places_ == 4 ? nb::make_tuple(id_, round, action, number) : nb::make_tuple(id_, round, action);
        nb::object move = nb::steal(make(reinterpret_cast<PyTypeObject*>(type_.ptr()), nb::make_tuple(places).ptr(), nullptr));
        if (!move.is_valid()) throw nb::python_error();
        return move;
    }
    /// A move that was settled and that nobody else has any more, to be written anew; or null.
    nb::object forgotten_move() {
#if !defined(Py_GIL_DISABLED)  // elsewhere a count of one may be of another thread
        for (nb::object* used : {&used_[1], &used_[0]})
            if (used->is_valid() && Py_REFCNT(used->ptr()) == 1 && PyLong_CheckExact(PyTuple_GetItem(used->ptr(), 2)))
                return std::move(*used);
#endif
        return {};
    }

    nb::object id_, type_;
    i64 places_;
    allocfunc alloc_ = nullptr;
    Ticket last_;
    nb::object used_[2];          // the moves settled last: whoever plays on has dropped the older by the next draw
    std::map<i64, Ticket> late_;  // open moves drawn before the last one
};

}  // namespace hn
