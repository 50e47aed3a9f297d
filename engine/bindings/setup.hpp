// Setup of a learner with the arrays that it points to, as a Python object.
#pragma once

#include <utility>
#include <vector>

#include "../potentials.hpp"
#include "../setup.hpp"
#include "arrays.hpp"

namespace hn {

struct Description {
    Setup setup;
    std::vector<double> prior, grid;
    nb::object law;  // callable (L, scale, valued) -> (w, value) of a smoothing that is implemented in Python
    // Callable (action, p, L, scale, draw) -> (weight, baselines or None) of a user-defined estimator
    nb::object estimate;
    nb::object raised;  // exception that it raised, if any
    nb::object table;   // keeps a tabulated law alive
};

/// tp_traverse of objects with a setup: a user-defined law may refer to its player, so the garbage collector
/// must see it.
template <class Holder>
int visit_setup_of(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<Holder>(self)->description.ptr());
    return 0;
}

/// Set the exception of a user-defined smoothing as that of the interpreter; false if there is none.
bool raised_again(Description& d);
/// Re-raise the exception of a user-defined smoothing, if a step failed because of it.
void raise_if_foreign(Description& d);

Words words_at(const u64* w);

// Tabulated law as a Python object: its numbers, and the struct that points to them.

struct HeldTable {
    LawTable table;
    std::vector<double> points, w, dw;
};

}  // namespace hn
