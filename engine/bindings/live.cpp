// act and observe of a live player, as plain CPython methods without a Python frame. They handle the common
// cases; all other cases (other types of numbers, a ticket of another player, a loss out of range) are passed
// to the methods of the Python class, which have the error messages.
#include "player.hpp"

namespace hn {
namespace {

/// Data of a contiguous float64 array of length n, or null; the array must outlive the pointer.
class Row {
    Py_buffer view_{};
    bool held_ = false;

public:
    const double* data = nullptr;

    Row(nb::handle object, i64 n) {
        // True for arrays of NumPy itself; a subclass may carry further meaning, such as a mask.
        static PyObject* const exactly =
            nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
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

/// Arguments of a call, by position and then by name. The first `places` names may be given by position.
struct Given {
    PyObject* const* given;
    Py_ssize_t count;
    PyObject* words;

    /// Arguments in the order of the names, null if one is missing. Returns false with an error set for any
    /// other argument.
    template <std::size_t N>
    bool sorted(const char* function, const char* const (&names)[N], Py_ssize_t places,
                PyObject* (&found)[N]) const {
        if (count > places) {
            PyErr_Format(PyExc_TypeError, "%s() takes at most %zd positional arguments; got %zd", function,
                         places, count);
            return false;
        }
        for (Py_ssize_t k = 0; k < count; ++k) found[k] = given[k];
        for (Py_ssize_t k = 0; words && k < PyTuple_Size(words); ++k) {
            PyObject* word = PyTuple_GetItem(words, k);
            std::size_t i = 0;
            while (i < N && PyUnicode_CompareWithASCIIString(word, names[i]) != 0) ++i;
            if (i == N || found[i]) {
                PyErr_Format(PyExc_TypeError,
                             i == N ? "%s() got an unexpected keyword argument %R"
                                    : "%s() got multiple values for argument %R",
                             function, word);
                return false;
            }
            found[i] = given[count + k];
        }
        return true;
    }
};

/// Player of `self`; null with an error set before its __init__.
Player* ready(PyObject* self) {
    if (nb::inst_ready(self)) return nb::inst_ptr<Player>(self);
    PyErr_SetString(PyExc_TypeError, "__init__ of the player must be called before its methods");
    return nullptr;
}

template <class Work> PyObject* guarded(Work work) noexcept {
    try {
        return work();
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const nb::builtin_exception& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::invalid_argument& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

PyObject* nothing() { return nb::none().release().ptr(); }
bool missing(PyObject* object) { return !object || object == Py_None; }

template <nb::object (Player::*draw)()>
PyObject* act(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* words) noexcept {
    return guarded([=]() -> PyObject* {
        Player* player = ready(self);
        if (!player) return nullptr;
        if (count > 0 || words) {
            PyObject* found[1]{};
            if (!Given{given, count, words}.sorted("act", {"awake"}, 1, found)) return nullptr;
            if (!missing(found[0]))
                return nb::object(nb::handle(self).attr("_act_awake")(nb::handle(found[0]))).release().ptr();
        }
        return (player->*draw)().release().ptr();
    });
}

PyObject* observe_row(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* words) noexcept {
    return guarded([=]() -> PyObject* {
        Player* player = ready(self);
        PyObject* found[3]{};
        if (!player || !Given{given, count, words}.sorted("observe", {"move", "loss", "reward"}, 2, found))
            return nullptr;
        if (!found[0] || (!found[1] && missing(found[2]))) {
            PyErr_SetString(PyExc_TypeError, "observe() requires a move and the losses of all experts");
            return nullptr;
        }
        if (!missing(found[2])) {
            nb::handle(self).attr("_observe_reward")(
                nb::handle(found[0]), nb::handle(found[1] ? found[1] : Py_None), nb::handle(found[2]));
            return nothing();
        }
        if (count < 2) nb::handle(self).attr("_check_loss_keyword")(nb::handle(found[1]));
        Ticket* ticket = player->find(nb::handle(found[0]));
        if (ticket && ticket->plain) {
            const Row row(found[1], player->n());
            if (row.data && player->settle_row(*ticket, row.data) < 0) return nothing();
        }
        nb::handle(self).attr("_observe_slowly")(nb::handle(found[0]), nb::handle(found[1]));
        return nothing();
    });
}

/// Parse the loss or the reward of one action.
template <bool (Player::*settle)(Ticket&, double), bool plainly>
PyObject* observe_one(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* words) noexcept {
    return guarded([=]() -> PyObject* {
        Player* player = ready(self);
        PyObject* found[3]{};
        if (!player) return nullptr;
        if (__builtin_expect(count == 2 && !words, 1)) found[0] = given[0], found[1] = given[1];
        else if (!Given{given, count, words}.sorted("observe", {"move", "loss", "reward"}, 2, found))
            return nullptr;
        if (!found[0]) {
            PyErr_SetString(PyExc_TypeError, "observe() requires a move, and its loss or its reward");
            return nullptr;
        }
        const nb::handle move(found[0]), loss(found[1] ? found[1] : Py_None), player_of(self);
        if (!missing(found[2])) {
            player_of.attr("_observe_reward")(move, loss, nb::handle(found[2]));
            return nothing();
        }
        if (count < 2 && !missing(found[1])) player_of.attr("_check_loss_keyword")(loss);
        Ticket* ticket = player->find(move);
        if (ticket && (ticket->plain || !plainly) && PyFloat_CheckExact(loss.ptr()) &&
            (player->*settle)(*ticket, PyFloat_AsDouble(loss.ptr())))
            return nothing();
        player_of.attr("_observe_slowly")(move, loss);
        return nothing();
    });
}

using Quick = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) noexcept;
PyMethodDef method(const char* name, Quick quick, const char* doc) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(quick)),
            METH_FASTCALL | METH_KEYWORDS, doc};
}

PyMethodDef methods[] = {
    method("_act_expert", act<&Player::act_expert>,
           "_act_expert($self, awake=None)\n--\n\nDraw an expert; with `awake`, a mask of booleans, one of "
           "the available experts."),
    method("_act_arm", act<&Player::act_arm>,
           "_act_arm($self, awake=None)\n--\n\nDraw an arm; with `awake`, a mask of booleans, one of "
           "the available arms."),
    method("_observe_row", observe_row,
           "_observe_row($self, move, loss=None, *, reward=None)\n--\n\nSettle a move with the losses of all "
           "experts."),
    method("_observe_arm", observe_one<&Player::settle_arm, true>,
           "_observe_arm($self, move, loss=None, *, reward=None)\n--\n\nSettle a move with the loss of its "
           "arm."),
    method("_observe_on_advice", observe_one<&Player::settle_on_advice, false>,
           "_observe_on_advice($self, move, loss=None, *, reward=None)\n--\n\n"
           "Settle a move with the loss of its action, on the advice that it was drawn with."),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyType_Slot live_methods[] = {{Py_tp_methods, methods},
                              {Py_tp_traverse, reinterpret_cast<void*>(visit_setup_of<Player>)},
                              {0, nullptr}};

}  // namespace hn
