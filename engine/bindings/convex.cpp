// hannan._engine, convex games: sets, rules, the perturbed leader, draws of its noise.
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>

#include "../convex.hpp"
#include "leader.hpp"
#include "registration.hpp"
#include "setup.hpp"

namespace hn {
namespace {

void take_point(const LeaderOwner& leader, In<double> x) {
    require(i64(x.size()) == leader.d(), "a point must have one coordinate per dimension of the set");
}

void take_loss(const LeaderOwner& leader, Phi phi, i64 count) {
    const Sums& sums = leader.sums;
    require(phi != Phi::squared || sums.Q, "prepare() must be called before squared losses");
    require(phi == Phi::linear || phi == Phi::squared || (phi == sums.phi && sums.rows + count <= sums.room),
            "prepare() must be called for this kind and number of losses");
}

Solved act(LeaderOwner& leader) {
    require(leader.plays, "a leader requires rules to draw moves");
    require(leader.region.kind != SetKind::other, "the engine cannot minimize over a set of kind 'other'");
    const Busy here = leader.alone();
    const Solved found = convex().act(leader.at(leader.solves()));
    leader.raise();
    return found;
}

Solved play(LeaderOwner& leader, Phi phi, Table2<double> rows, In<double> targets, In<i64> marks,
            Out<double> own, std::optional<OutTable2<double>> moves) {
    require(leader.plays && leader.region.kind != SetKind::other,
            "a leader must have rules and a set that the engine can minimize over");
    const i64 count = i64(rows.shape(0)), d = leader.d();
    require(i64(rows.shape(1)) == d && i64(targets.size()) == count,
            "rows and targets must have one entry per round, and rows one column per dimension");
    require(own.size() == marks.size(), "own must have one entry per mark");
    require(!moves || (i64(moves->shape(0)) == count && i64(moves->shape(1)) == d),
            "moves must have one row per round");
    require(phi != Phi::own, "user-defined losses must be passed one at a time");
    const Busy here = leader.alone();
    take_loss(leader, phi, count);
    std::vector<double> edge(std::size_t(leader.width()), 0.0);
    const AtPoint at = leader.at(leader.solves() || phi != Phi::linear);
    const PointRounds rounds{phi,          rows.data(),       targets.data(), count,
                             marks.data(), i64(marks.size()), own.data(),     moves ? moves->data() : nullptr,
                             edge.data()};
    Solved found;
    {
        nb::gil_scoped_release free;
        found = convex().play(at, rounds);
    }
    leader.raise();
    return found;
}

/// Play runs against the same linear losses, one after the other in one call.
void play_linear(nb::list runs, Table2<double> rows, In<i64> marks, OutTable2<double> own) {
    const i64 count = i64(rows.shape(0)), d = i64(rows.shape(1)), noted = i64(marks.size());
    require(own.shape(0) == runs.size() && i64(own.shape(1)) == noted,
            "own must have one row per run and one column per mark");
    std::vector<LeaderOwner*> leaders;
    std::vector<std::unique_ptr<Busy>> here;
    for (nb::handle run : runs) {
        LeaderOwner& leader = nb::cast<LeaderOwner&>(run);
        require(leader.plays && leader.region.kind != SetKind::other && leader.d() == d,
                "a leader must have rules and a set that the engine can minimize over");
        require(!leader.solves(),
                "play_linear requires leaders that have observed linear losses only");
        here.emplace_back(new Busy(leader.alone()));
        leaders.push_back(&leader);
    }
    std::vector<double> edge(std::size_t(padded(d)), 0.0);
    const std::vector<double> targets(std::size_t(count), 0.0);
    nb::gil_scoped_release free;
    for (std::size_t k = 0; k < leaders.size(); ++k)
        convex().play(leaders[k]->at(false), {Phi::linear, rows.data(), targets.data(), count, marks.data(),
                                              noted, own.data() + i64(k) * noted, nullptr, edge.data()});
}

nb::object minimise(LeaderOwner& leader, In<double> noise, double ridge, double tolerance, In<double> start,
                    bool warm) {
    take_point(leader, noise);
    take_point(leader, start);
    require(leader.region.kind != SetKind::other, "the engine cannot minimize over a set of kind 'other'");
    const Busy here = leader.alone();
    Fresh<double> x{std::size_t(leader.d())};
    for (i64 j = 0; j < leader.d(); ++j) x.data[j] = start.data()[j];
    PointModel& model = warm ? leader.model() : leader.spare_model();
    PointNumbers apart;
    PointNumbers& numbers = warm ? leader.run : apart;
    double left;
    Solved found;
    {
        nb::gil_scoped_release free;
        found = convex().minimise(leader.region, leader.sums, ridge, tolerance, noise.data(), x.data, numbers,
                                  model, left);
    }
    leader.raise();
    return nb::make_tuple(found, x.give(), left);
}

/// grad G(x), or None if a user-defined phi is not finite.
nb::object slope(LeaderOwner& leader, In<double> x) {
    take_point(leader, x);
    const Busy here = leader.alone();
    Fresh<double> g{std::size_t(leader.d())};
    const std::vector<double> none(std::size_t(leader.d()), 0.0);
    const bool fine = convex().gradient(leader.sums, leader.region.center, 0.0, none.data(), x.data(), g.data,
                                        leader.spare_model().work);
    leader.raise();
    return fine ? g.give() : nb::none();
}

nb::object curvature(LeaderOwner& leader, In<double> x, double ridge) {
    take_point(leader, x);
    const Busy here = leader.alone();
    Fresh<double> H{std::size_t(leader.d()), std::size_t(leader.d())};
    const bool fine = convex().hessian(leader.sums, ridge, x.data(), H.data, leader.spare_model().work);
    leader.raise();
    return fine ? H.give() : nb::none();
}

double observe(LeaderOwner& leader, In<double> x, Phi phi, In<double> z, double y) {
    take_point(leader, x);
    take_point(leader, z);
    const Busy here = leader.alone();
    take_loss(leader, phi, 1);
    const double loss =
        phi == Phi::own ? y : convex().loss(phi, leader.sums.parameter, x.data(), z.data(), y, leader.d());
    leader.run.own += loss;
    convex().include(leader.sums, phi, z.data(), y);
    return loss;
}

void absorb(LeaderOwner& leader, Phi phi, Table2<double> rows, In<double> targets) {
    const i64 count = i64(rows.shape(0));
    require(i64(rows.shape(1)) == leader.d() && i64(targets.size()) == count,
            "rows and targets must have one entry per loss");
    const Busy here = leader.alone();
    take_loss(leader, phi, count);
    for (i64 t = 0; t < count; ++t)
        convex().include(leader.sums, phi, rows.data() + t * leader.d(), targets.data()[t]);
}

/// A move that was computed in Python.
void moved(LeaderOwner& leader, In<double> x, double ridge, double left) {
    take_point(leader, x);
    const Busy here = leader.alone();
    PointRun& run = leader.run;
    for (i64 j = 0; j < leader.d(); ++j) run.x[j] = x.data()[j];
    run.last = ridge > 0.0 ? left / ridge : 0.0;
    if (ridge > 0.0) run.ridge = ridge;
    run.distance += run.last;
    if (run.last > run.farthest) run.farthest = run.last;
}

/// Begin the next round at its scale, without drawing from the stream.
void begin(LeaderOwner& leader) {
    const Busy here = leader.alone();
    PointRun& run = leader.run;
    const PointRules& rules = leader.rules;
    run.round += 1.0;
    run.scale = rules.c * __builtin_sqrt(rules.a + rules.b * run.round + rules.d * run.own);
}

nb::object draw(NoiseKind kind, Words& stream, i64 rows, i64 d) {
    Fresh<double> out{std::size_t(rows), std::size_t(d)};
    std::vector<double> row(std::size_t(padded(d)), 0.0);
    for (i64 i = 0; i < rows; ++i) {
        const double spread = convex().draw(kind, stream, row.data(), d);
        for (i64 j = 0; j < d; ++j) out.data[i * d + j] = spread * row[std::size_t(j)];
    }
    return out.give();
}

void keep(Out<u64> words, const Words& s) {
    words.data()[0] = s.a;
    words.data()[1] = s.b;
    words.data()[2] = s.c;
    words.data()[3] = s.d;
}

// A user-defined phi may refer to its player, so the garbage collector must traverse the leader.
int visit_leader(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const LeaderOwner* leader = nb::inst_ptr<LeaderOwner>(self);
    Py_VISIT(leader->slopes.ptr());
    Py_VISIT(leader->region_object.ptr());
    return 0;
}
int clear_leader(PyObject* self) {
    nb::inst_ptr<LeaderOwner>(self)->slopes.reset();
    return 0;
}
PyType_Slot leader_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_leader)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_leader)},
                              {0, nullptr}};

PointRules ruled(NoiseKind noise, bool fresh, double c, double a, double b, double d, double ridge,
                 double loss_ridge, double scale_ridge, double accuracy) {
    return {noise, fresh, c, a, b, d, ridge, loss_ridge, scale_ridge, accuracy};
}

}  // namespace

void bind_convex(nb::module_& m) {
    nb::enum_<SetKind>(m, "SetKind")
        .value("ball", SetKind::ball)
        .value("box", SetKind::box)
        .value("simplex", SetKind::simplex)
        .value("other", SetKind::other);
    nb::enum_<Phi>(m, "Phi", "Shape phi of a loss phi(<z, x>).")
        .value("linear", Phi::linear)
        .value("squared", Phi::squared)
        .value("logistic", Phi::logistic)
        .value("huber", Phi::huber)
        .value("hinge", Phi::hinge)
        .value("own", Phi::own);
    nb::enum_<NoiseKind>(m, "NoiseKind")
        .value("gamma", NoiseKind::gamma)
        .value("gaussian", NoiseKind::gaussian);
    nb::enum_<Solved>(m, "Solved")
        .value("fine", Solved::fine)
        .value("stuck", Solved::stuck)
        .value("failed", Solved::failed);
    nb::class_<RegionOwner>(m, "Region",
                            "A convex set: a ball by center and radius, a box and a simplex by low and high.")
        .def(nb::init<SetKind, In<double>, double, In<double>, In<double>>(), "kind"_a, "center"_a,
             "radius"_a, "low"_a, "high"_a);
    nb::class_<PointRules>(m, "PointRules", "Noise, the scale c sqrt(a + b t + d own), and the ridge.")
        .def(nb::new_(&ruled), nb::kw_only(), "noise"_a, "fresh"_a, "c"_a, "a"_a, "b"_a, "d"_a, "ridge"_a,
             "loss_ridge"_a, "scale_ridge"_a, "accuracy"_a)
        .def(
            "fields",
            [](const PointRules& r) {
                nb::dict out;
                out["noise"] = r.noise;
                out["fresh"] = r.fresh;
                out["c"] = r.c;
                out["a"] = r.a;
                out["b"] = r.b;
                out["d"] = r.d;
                out["ridge"] = r.ridge;
                out["loss_ridge"] = r.loss_ridge;
                out["scale_ridge"] = r.scale_ridge;
                out["accuracy"] = r.accuracy;
                return out;
            },
            "The constructor's arguments, by name.")
        .def_ro("fresh", &PointRules::fresh)
        .def_ro("noise", &PointRules::noise)
        .def_ro("accuracy", &PointRules::accuracy)
        .def("ridge_of", &PointRules::ridge_of, "curved"_a, "scale"_a,
             "Ridge after `curved` losses that are not linear, at a scale.");
    nb::class_<LeaderOwner>(
        m, "Leader", nb::type_slots(leader_slots),
        "Solver of argmin_X G(x) + <b, x>, with the sums of losses and the state of a run.")
        .def(nb::init<nb::object, nb::object, In<u64>>(), "region"_a, "rules"_a.none(), "words"_a)
        .def(
            "prepare",
            [](LeaderOwner& l, Phi phi, double parameter, i64 more, nb::object slopes) {
                const Busy here = l.alone();
                l.prepare(phi, parameter, more, std::move(slopes));
            },
            "phi"_a, "parameter"_a, "more"_a, "slopes"_a.none() = nb::none(),
            "Reserve memory for losses of a kind.")
        .def("act", &act, "Draw the noise of the round and return the status of the move.")
        .def("play", &play, "phi"_a, "rows"_a, "targets"_a, "marks"_a, "own"_a.noconvert(),
             "moves"_a.none().noconvert(),
             "Play rounds against losses of one kind; write the own loss after each round of `marks`.")
        .def("minimise", &minimise, "noise"_a, "ridge"_a, "tolerance"_a, "start"_a, "warm"_a = false,
             "Minimize G(x) + <noise, x> + (ridge/2)||x - center||^2. Returns (status, argmin, residual); "
             "uses "
             "the model of the run if `warm`.")
        .def("slope", &slope, "x"_a,
             "Return the gradient of G at x, or None if a user-defined loss is not finite.")
        .def("curvature", &curvature, "x"_a, "ridge"_a, "Return the Hessian of G at x plus the ridge.")
        .def(
            "value",
            [](LeaderOwner& l, In<double> x) {
                take_point(l, x);
                const Busy here = l.alone();
                return convex().value(l.sums, x.data());
            },
            "x"_a, "G(x), without a user's own losses, and without the y^2/2 of squared ones.")
        .def("observe", &observe, "x"_a, "phi"_a, "z"_a, "y"_a,
             "Add a loss to the sums, and its value at x to the own loss.")
        .def("absorb", &absorb, "phi"_a, "rows"_a, "targets"_a, "Add losses, and nothing else.")
        .def(
            "perturb",
            [](LeaderOwner& l) {
                require(l.plays, "a leader requires rules to draw moves");
                const Busy here = l.alone();
                convex().perturb(l.rules, l.run, l.d());
                return array_of(l.run.noise, l.d());
            },
            "Draw the noise of the next round.")
        .def("begin", &begin, "Begin the next round without drawing noise.")
        .def("moved", &moved, "x"_a, "ridge"_a, "left"_a, "Store a move that Python found, and its residual.")
        .def(
            "farther",
            [](LeaderOwner& l, double by) {
                const Busy here = l.alone();
                l.run.distance += by;
            },
            "by"_a, "Add to the sum of the distances between moves and argmins.")
        .def(
            "draw",
            [](LeaderOwner& l, NoiseKind kind) {
                const Busy here = l.alone();
                Fresh<double> out{std::size_t(l.width())};
                const double spread = convex().draw(kind, l.run.stream, out.data, l.d());
                for (i64 j = 0; j < l.d(); ++j) out.data[j] *= spread;
                return array_of(out.data, l.d());
            },
            "kind"_a, "A standard draw of noise from the run's stream.")
        .def(
            "mark",
            [](LeaderOwner& l) {
                const Busy here = l.alone();
                l.mark();
            },
            "Store the state of the run.")
        .def(
            "back",
            [](LeaderOwner& l) {
                const Busy here = l.alone();
                l.back();
            },
            "Restore the state stored by mark().")
        .def(
            "fields",
            [](LeaderOwner& l) {
                const Busy here = l.alone();
                return l.fields();
            },
            "Return the whole state, by name.")
        .def(
            "restore",
            [](LeaderOwner& l, const nb::dict& from) {
                const Busy here = l.alone();
                l.restore(from);
            },
            "fields"_a)
        .def_prop_ro("round", [](LeaderOwner& l) { return i64(l.run.round); })
        .def_prop_ro(
            "own", [](LeaderOwner& l) { return l.run.own; }, "Cumulative own loss.")
        .def_prop_ro("scale", [](LeaderOwner& l) { return l.run.scale; })
        .def_prop_ro("ridge", [](LeaderOwner& l) { return l.run.ridge; })
        .def_prop_ro(
            "last", [](LeaderOwner& l) { return l.run.last; },
            "Largest possible distance of the last move from the argmin.")
        .def_prop_ro(
            "distance", [](LeaderOwner& l) { return l.run.distance; },
            "Sum of these distances over all moves.")
        .def_prop_ro(
            "farthest", [](LeaderOwner& l) { return l.run.farthest; }, "Largest of these distances.")
        .def_prop_ro(
            "curved", [](LeaderOwner& l) { return l.sums.curved(); }, "Number of losses that are not linear.")
        .def_prop_ro(
            "move", [](LeaderOwner& l) { return array_of(l.run.x, l.d()); }, "Last move.")
        .def_prop_ro(
            "linear", [](LeaderOwner& l) { return array_of(l.sums.q, l.d()); }, "Sum of the linear losses.")
        .def_prop_ro("quadratic",
                     [](LeaderOwner& l) { return array_of(l.sums.Q, l.sums.Q ? l.d() * l.d() : 0); })
        .def_prop_rw(
            "words",
            [](LeaderOwner& l) {
                const u64 words[4] = {l.run.stream.a, l.run.stream.b, l.run.stream.c, l.run.stream.d};
                return array_of(words, 4);
            },
            [](LeaderOwner& l, In<u64> words) {
                require(words.size() == 4, "words must have four entries");
                const Busy here = l.alone();
                l.run.stream = words_at(words.data());
            },
            "Four words of the random stream.");
    m.def("play_linear", &play_linear, "leaders"_a, "rows"_a, "marks"_a, "own"_a.noconvert(),
          "Play linear losses with leaders that have received linear losses only; write the own loss after "
          "the rounds of "
          "`marks`.");
    m.def(
        "noise_draws",
        [](NoiseKind kind, Out<u64> words, i64 rows, i64 d) {
            require(words.size() == 4 && rows >= 0 && d >= 1,
                    "words must have four entries, and d must be >= 1");
            Words stream = words_at(words.data());
            nb::object out = draw(kind, stream, rows, d);
            keep(words, stream);
            return out;
        },
        "kind"_a, "words"_a.noconvert(), "rows"_a, "d"_a,
        "Draw standard noise, one row per draw, and advance the words.");
    m.def(
        "normals",
        [](Out<u64> words, i64 count) {
            require(words.size() == 4 && count >= 0, "words must have four entries");
            Words stream = words_at(words.data());
            Fresh<double> out{std::size_t(count)};
            convex().normals(stream, out.data, count);
            keep(words, stream);
            return out.give();
        },
        "words"_a.noconvert(), "count"_a, "Draw the next normals of a stream, and advance its words.");
}

}  // namespace hn
