// Pending moves of a player: the last move, older moves that await feedback, and the counts of drawn and dropped moves.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "../bindings/arrays.hpp"

namespace hn {

using Numbers = std::shared_ptr<const std::vector<double>>;

/// Pending move: the Python object, the weight that replaces 1/p, and what its settlement needs.
struct Ticket {
    nb::object move;
    i64 round = 0, action = 0;
    double probability = 0.0, weight = 0.0;
    bool plain = true;  // all arms were available
    Numbers numbers;    // distribution or baselines at the draw, if the run has changed them since
    nb::object kept;    // object that Python stores with the ticket
};

class Book {
public:
    i64 drawn = 0, forgotten = 0, largest_delay = 0;

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
    i64 open() const { return i64(late_.size()) + (last_.round > 0); }
    i64 settled() const { return drawn - open() - forgotten; }

    /// Issue the ticket of the next round; `action` is the action field of the Move.
    Ticket& issue(nb::object action, i64 number, double probability, double weight) {
        if (last_.round > 0) {
            const i64 missing = open();
            largest_delay = std::max(largest_delay, missing);
            late_.emplace(last_.round, std::move(last_));
            last_ = Ticket{};
        }
        last_.move = made(std::move(action), drawn + 1, probability);
        last_.round = ++drawn;
        last_.action = number;
        last_.probability = probability;
        last_.weight = weight;
        return last_;
    }
    /// Return the pending ticket of a round, or null.
    Ticket* find(i64 round) {
        if (last_.round == round && round > 0) return &last_;
        const auto found = late_.find(round);
        return found == late_.end() ? nullptr : &found->second;
    }
    /// Return the pending ticket of this Move object (by identity), or null.
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
        last_ = Ticket{};
    }
    void forget(i64 round) {
        close(round);
        ++forgotten;
    }
    /// Visit every pending ticket in order of rounds.
    template <class Visit> void each(Visit visit) { each_after(0, visit); }
    /// Visit every pending ticket of a later round, in order of rounds.
    template <class Visit> void each_after(i64 round, Visit visit) {
        for (auto at = late_.upper_bound(round); at != late_.end(); ++at) visit(at->second);
        if (last_.round > round) visit(last_);
    }
    void clear() {
        late_.clear();
        last_ = Ticket{};
    }
    /// Restore a ticket from a file; rounds must be ascending.
    Ticket& restore(nb::object move, i64 round) {
        require(round >= 1 && round <= drawn,
                "the round of a pending move must be between 1 and the number of rounds drawn");
        require(!find(round), "pending moves must have distinct rounds");
        require(last_.round == 0 || last_.round < round,
                "pending moves must be in ascending order of rounds");
        if (last_.round > 0) late_.emplace(last_.round, std::move(last_));
        last_ = Ticket{};
        last_.move = std::move(move);
        last_.round = round;
        return last_;
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
    Ticket last_;
    std::map<i64, Ticket> late_;  // open moves drawn before the last one
};

}  // namespace hn
