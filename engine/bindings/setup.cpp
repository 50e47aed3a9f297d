// hannan._engine.Setup: description of a learner for the engine.
#include "setup.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <variant>

#include "../potentials.hpp"
#include "registration.hpp"

namespace hn {
namespace {

/// Pass L and scale to a Python function and return w and the value; an exception is kept until the step is
/// over.
bool ask_python(void* self, const double* L, i64 n, double scale, bool valued, double* w, double* value) {
    auto& d = *static_cast<Description*>(self);
    nb::gil_scoped_acquire gil;
    if (!d.law.is_valid()) return false;  // cleared by the garbage collector
    try {
        nb::object answer = d.law(array_of(L, n), scale, valued);
        auto both = nb::cast<std::pair<In<double>, double>>(answer);
        if (i64(both.first.size()) != n) return false;
        for (i64 i = 0; i < n; ++i) w[i] = both.first.data()[i] > 0.0 ? both.first.data()[i] : 0.0;
        if (valued) *value = both.second;
        return true;
    } catch (nb::python_error& error) {
        d.raised = nb::borrow(error.value());
        return false;
    } catch (...) {
        return false;
    }
}

/// Weight and baselines of a user-defined estimator; NaN if it failed, with its exception kept.
double ask_estimator(void* self, i64 action, const double* w, double total, const double* L, i64 n,
                     double scale, Words& stream, double (*draw)(Words&), double* baselines) {
    constexpr double failed = std::numeric_limits<double>::quiet_NaN();
    auto& d = *static_cast<Description*>(self);
    nb::gil_scoped_acquire gil;
    if (!d.estimate.is_valid()) return failed;  // cleared by the garbage collector
    // The function that draws must not be used after this call, because the stream may no longer exist.
    const auto live = std::make_shared<Words*>(&stream);
    try {
        Fresh<double> p{std::size_t(n)};
        for (i64 i = 0; i < n; ++i) p.data[i] = w[i] / total;
        nb::object uniform = nb::cpp_function([live, draw]() {
            if (!*live) throw nb::value_error("uniform() must be called inside weight(); the call has ended");
            return draw(**live);
        });
        nb::object answer = d.estimate(action, p.give(), array_of(L, n), scale, uniform);
        *live = nullptr;
        const auto both = nb::cast<std::pair<double, nb::object>>(answer);
        for (i64 i = 0; i < n; ++i) baselines[i] = 0.0;
        if (!both.second.is_none()) {
            const auto found = nb::cast<In<double>>(both.second);
            if (i64(found.size()) != n) return failed;
            for (i64 i = 0; i < n; ++i) baselines[i] = found.data()[i];
        }
        return both.first;
    } catch (nb::python_error& error) {
        *live = nullptr;
        d.raised = nb::borrow(error.value());
        return failed;
    } catch (...) {
        *live = nullptr;
        return failed;
    }
}

Path path_of(const Setup& s) {
    // The lanes and the series implement their own estimators, so a user-defined estimator uses the generic
    // code.
    if (s.estimator == Estimator::foreign) return s.is(Smoothing::entropy) ? Path::entropy : Path::called;
    if (s.is(Smoothing::entropy)) {
        if (!s.schedule.constant() || s.kappa > 0.0) return Path::entropy;
        return s.setting == Setting::bandit ? Path::entropy_one : Path::entropy_times;
    }
    if (s.is(Smoothing::tsallis) && s.parameter[0] == 0.5) return Path::half;
    if (s.is(Smoothing::tsallis) && s.parameter[0] >= 0.05 && s.parameter[0] <= 0.9) return Path::powers;
    if (s.is(Smoothing::log_barrier)) return Path::barrier;
    return Path::called;
}

/// Parts of a setup, given by the Python objects of a learner.
using Kind = std::variant<Smoothing, Memory, Counter>;
struct Weigher {
    Kind kind;
    std::vector<double> parameters;
    double gamma;  // divergence in which the level is measured
    nb::object call, table;  // for a user-defined smoothing: (L, scale, valued) -> (w, value), or its table
};
struct Estimate {
    Estimator kind = Estimator::importance_weighted;
    double parameter = 0.0;
    nb::object call = nb::none();  // for a user-defined estimator
};
struct Units {
    double low, high;
    bool gains;
};
struct Clip {
    double rho = 0.0, kappa = 0.0, rate = 1.0;
};

Description* described(Setting setting, i64 n, const Weigher& weigher, const Schedule& schedule,
                       const Units& units, std::optional<i64> actions, const Estimate& estimate,
                       const Clip& clip, const std::vector<double>& log_prior, double floor) {
    require(floor == 0.0 || floor == fourth_root || (floor > 0.0 && floor < 1.0),
            "floor must be 0, a share below 1, or -1 for the fourth root");
    require(floor == 0.0 ||
                (setting == Setting::bandit && (estimate.kind == Estimator::importance_weighted ||
                                                estimate.kind == Estimator::reduced_variance)),
            "a floor requires a bandit with an estimator that divides by the probability");
    require(n >= 1 && n < (i64(1) << 31), "n must be between 1 and 2^31 - 1");
    const i64 all = actions.value_or(n);
    require(all >= 1 && all < (i64(1) << 31), "actions must be between 1 and 2^31 - 1");
    require(weigher.parameters.size() <= 4, "parameters must be at most four numbers");
    require(std::isfinite(units.low) && std::isfinite(units.high) && units.low < units.high,
            "low must be below high, and both must be finite");
    require(log_prior.empty() || i64(log_prior.size()) == n, "prior must have one number per arm");
    require((estimate.kind == Estimator::foreign) == !estimate.call.is_none(),
            "call must be a callable if the estimator is foreign, else None");
    require(estimate.call.is_none() || setting == Setting::bandit,
            "a foreign estimator requires a bandit");
    auto d = std::make_unique<Description>();
    Setup& s = d->setup;
    s.setting = setting;
    s.n = n;
    s.actions = setting == Setting::expert_bandit ? all : n;
    if (const auto* smoothing = std::get_if<Smoothing>(&weigher.kind)) {
        s.smoothing = *smoothing;
    } else if (const auto* memory = std::get_if<Memory>(&weigher.kind)) {
        s.weighing = Weighing::memory;
        s.memory = *memory;
    } else {
        s.weighing = Weighing::counter;
        s.counter = std::get<Counter>(weigher.kind);
    }
    require(log_prior.empty() || s.is(Smoothing::entropy), "prior requires entropy");
    require(s.is(Smoothing::foreign) == !weigher.call.is_none(),
            "call must be a callable if the smoothing is foreign, else None");
    require(s.is(Smoothing::table) == !weigher.table.is_none(),
            "table must be a LawTable if the smoothing is tabulated, else None");
    s.estimator = estimate.kind;
    s.estimator_parameter = estimate.parameter;
    s.floor = floor;
    std::copy(weigher.parameters.begin(), weigher.parameters.end(), s.parameter);
    s.schedule = schedule;
    s.low = units.low;
    s.high = units.high;
    s.gains = units.gains;
    s.clip = clip.rho;
    s.kappa = clip.kappa;
    s.rate = clip.rate;
    s.gamma = weigher.gamma;
    if (s.as_they_are()) {
        s.origin = 0.0;
        s.slope = s.gains ? -1.0 : 1.0;
    } else {
        s.origin = s.gains ? s.high : s.low;
        s.slope = (s.gains ? -1.0 : 1.0) / (s.high - s.low);
    }
    s.path = path_of(s);
    d->prior = log_prior;
    if (!log_prior.empty()) s.log_prior = d->prior.data();
    d->law = weigher.call;
    d->table = weigher.table;
    d->estimate = estimate.call;
    if (s.is(Smoothing::table)) s.table = &nb::cast<HeldTable&>(d->table).table;
    if (s.is(Smoothing::foreign)) s.foreign = {ask_python, d.get()};
    if (s.estimator == Estimator::foreign) s.foreign_estimate = {ask_estimator, d.get()};
    d->grid.resize(std::size_t(potentials().grid_places(s)));
    if (!d->grid.empty()) {
        potentials().make_grid(s, d->grid.data());
        s.grid = d->grid.data();
    }
    const double scale = s.first_scale();
    require(std::isfinite(scale) && scale > 0.0, "the scale of round 1 must be finite and > 0");
    return d.release();
}

// See visit_setup_of.
int visit_setup(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const Description* d = nb::inst_ptr<Description>(self);
    Py_VISIT(d->law.ptr());
    Py_VISIT(d->estimate.ptr());
    Py_VISIT(d->raised.ptr());
    return 0;
}
int clear_setup(PyObject* self) {
    Description* d = nb::inst_ptr<Description>(self);
    d->law.reset();
    d->estimate.reset();
    d->raised.reset();
    return 0;
}
PyType_Slot setup_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_setup)},
                             {Py_tp_clear, reinterpret_cast<void*>(clear_setup)},
                             {0, nullptr}};

}  // namespace

bool raised_again(Description& d) {
    if (!d.raised.is_valid()) return false;
    nb::object error = std::move(d.raised);
    d.raised = nb::object();
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    return true;
}

void raise_if_foreign(Description& d) {
    if (raised_again(d)) throw nb::python_error();
}

Words words_at(const u64* w) { return {w[0], w[1], w[2], w[3]}; }

void bind_setup(nb::module_& m) {
    nb::enum_<Setting>(m, "Setting")
        .value("experts", Setting::experts)
        .value("bandit", Setting::bandit)
        .value("expert_bandit", Setting::expert_bandit);
    nb::enum_<Smoothing> smoothings(m, "Smoothing");
#define HN_ROW(name, ...) smoothings.value(#name, Smoothing::name);
    HN_PLAIN(HN_ROW)
    HN_LAWS(HN_ROW)
#undef HN_ROW
    nb::enum_<Memory> memories(m, "Memory");
#define HN_ROW(name, ...) memories.value(#name, Memory::name);
    HN_MEMORIES(HN_ROW)
#undef HN_ROW
    nb::enum_<Counter> counters(m, "Counter");
#define HN_ROW(name, ...) counters.value(#name, Counter::name);
    HN_COUNTERS(HN_ROW)
#undef HN_ROW
    nb::enum_<Estimator>(m, "Estimator")
        .value("importance_weighted", Estimator::importance_weighted)
        .value("geometric", Estimator::geometric)
        .value("conditional", Estimator::conditional)
        .value("reduced_variance", Estimator::reduced_variance)
        .value("implicit", Estimator::implicit)
        .value("foreign", Estimator::foreign);
    nb::class_<Weigher>(m, "Weigher", "Smoothing, or learner with a memory, that computes weights from losses.")
        .def(
            "__init__",
            [](Weigher* made, Kind kind, const std::vector<double>& parameters, double gamma,
               nb::object call, nb::object table) {
                new (made) Weigher{kind, parameters, gamma, std::move(call), std::move(table)};
            },
            "kind"_a, "parameters"_a = std::vector<double>(), "gamma"_a = 1.0, nb::kw_only(),
            "call"_a = nb::none(), "table"_a = nb::none());
    nb::class_<Schedule>(m, "Schedule", "scale_t = c sqrt(a + b t + d own).")
        .def(
            "__init__",
            [](Schedule* made, double c, double a, double b, double d) { new (made) Schedule{c, a, b, d}; },
            "c"_a, "a"_a = 1.0, "b"_a = 0.0, "d"_a = 0.0);
    nb::class_<Estimate>(m, "Estimate", "Rule that replaces 1/p of the drawn arm.")
        .def(
            "__init__",
            [](Estimate* made, Estimator kind, double parameter, nb::object call) {
                new (made) Estimate{kind, parameter, std::move(call)};
            },
            "kind"_a = Estimator::importance_weighted, "parameter"_a = 0.0, nb::kw_only(),
            "call"_a = nb::none());
    nb::class_<Units>(m, "Units", "Range of the losses, or of the gains.")
        .def(
            "__init__",
            [](Units* made, double low, double high, bool gains) { new (made) Units{low, high, gains}; },
            "low"_a = 0.0, "high"_a = 1.0, "gains"_a = false);
    nb::class_<Clip>(m, "Clip",
                     "Threshold rho of clipped advice; if kappa > 0: a = min(1/2, kappa (1 + own)^(-1/3)), "
                     "eps = 2 a^2/(K - 1), rho = a/(K - 1), scale = rate/eps.")
        .def(
            "__init__",
            [](Clip* made, double rho, double kappa, double rate) { new (made) Clip{rho, kappa, rate}; },
            "rho"_a = 0.0, "kappa"_a = 0.0, "rate"_a = 1.0);
    nb::class_<Description>(m, "Setup", nb::type_slots(setup_slots),
                            "A learner as the engine plays it, assembled from its parts and checked.")
        .def(nb::new_([](Setting setting, i64 n, const Weigher& weigher, const Schedule& schedule,
                         const Units& units, std::optional<i64> actions, const Estimate* estimate,
                         const Clip* clip, const std::vector<double>& log_prior, double floor) {
                 return described(setting, n, weigher, schedule, units, actions,
                                  estimate ? *estimate : Estimate{}, clip ? *clip : Clip{}, log_prior, floor);
             }),
             "setting"_a, "n"_a, "weigher"_a, "schedule"_a, "units"_a, nb::kw_only(), "actions"_a = nb::none(),
             "estimate"_a = nb::none(), "clip"_a = nb::none(), "log_prior"_a = std::vector<double>(), "floor"_a = 0.0)
        .def_prop_ro("setting",
                     [](const Description& d) {
                         constexpr const char* names[] = {"experts", "bandit", "expert_bandit"};
                         return names[int(d.setup.setting)];
                     })
        .def_prop_ro("gamma", [](const Description& d) { return d.setup.gamma; })
        .def_prop_ro("gains", [](const Description& d) { return d.setup.gains; })
        .def_prop_ro(
            "own_noise", [](const Description& d) { return d.setup.own_noise(); },
            "True if a second stream of random numbers is used.")
        .def_prop_ro(
            "as_they_are", [](const Description& d) { return d.setup.as_they_are(); },
            "True if losses are played in their own units, without a range.")
        .def_prop_ro(
            "estimates", [](const Description& d) { return d.setup.estimates(); },
            "True if own loss - min L estimates the regret.")
        .def_prop_ro("n", [](const Description& d) { return d.setup.n; })
        .def_prop_ro("actions", [](const Description& d) { return d.setup.actions; })
        .def_prop_ro("low", [](const Description& d) { return d.setup.low; })
        .def_prop_ro("high", [](const Description& d) { return d.setup.high; });
}

}  // namespace hn
