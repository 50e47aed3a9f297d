#include "leader.hpp"

#include <utility>
#include <algorithm>
#include <cmath>

#include "fields.hpp"
#include "setup.hpp"

namespace hn {
namespace {

/// Upper limit of losses, sums and states in a file, so that their squares are finite.
constexpr double large = 1e150;

/// phi' and phi'' of the user-defined phi at a block of margins.
bool own_slopes(void* whose, double* work, i64 m, bool curved) {
    LeaderOwner& leader = *static_cast<LeaderOwner*>(whose);
    nb::gil_scoped_acquire held;
    if (!leader.slopes.is_valid()) return false;  // cleared by the garbage collector
    try {
        nb::object found = leader.slopes(array_of(work, m), curved);
        const auto table = nb::cast<Table2<double>>(found);
        require(table.shape(0) == (curved ? 2u : 1u) && i64(table.shape(1)) == m,
                "slopes must return one number per loss");
        for (i64 row = 0; row < (curved ? 2 : 1); ++row)
            for (i64 k = 0; k < m; ++k) work[(row + 1) * sweep + k] = table.data()[row * m + k];
    } catch (...) {
        leader.error = std::current_exception();
        return false;
    }
    for (i64 k = 0; k < m; ++k)
        if (!std::isfinite(work[sweep + k])) return false;
    return true;
}

template <class Visit>
void each_point_number(PointNumbers& run, Visit visit) {
    visit("round", run.round);
    visit("own", run.own);
    visit("scale", run.scale);
    visit("spread", run.spread);
    visit("ridge", run.ridge);
    visit("distance", run.distance);
    visit("farthest", run.farthest);
    visit("last", run.last);
    visit("modelled", run.modelled);
}

}  // namespace

PointModel& LeaderOwner::ModelOwner::made(i64 d) {
    if (numbers.empty()) {
        numbers.assign(std::size_t(PointModel::places(d)), 0.0);
        marks.assign(std::size_t(2 * d), 0);
        model.lay_out(d, numbers.data(), marks.data());
    }
    return model;
}

LeaderOwner::LeaderOwner(nb::object set, nb::object given, In<u64> words)
    : region_object(set), region(nb::cast<RegionOwner&>(set).region),
      vectors_(std::size_t(6 * padded(region.d)), 0.0) {
    require(words.size() == 4, "words must have four entries");
    if (!given.is_none()) {
        rules = nb::cast<PointRules>(given);
        plays = true;
    }
    double* place = vectors_.data();
    for (double** field : {&run.x, &run.normals, &run.noise, &sums.q, &marked.x, &marked.normals}) {
        *field = place;
        place += width();
    }
    run.stream = words_at(words.data());
    sums.d = region.d;
    sums.own = own_slopes;
    sums.whose = this;
    mark();
}

PointModel& LeaderOwner::model() { return model_.made(region.d); }
PointModel& LeaderOwner::spare_model() { return spare_.made(region.d); }

void LeaderOwner::prepare(Phi phi, double parameter, i64 more, nb::object own) {
    require(more >= 0, "the number of losses must be >= 0");
    if (phi == Phi::squared && !sums.Q) {
        quadratic_.assign(std::size_t(d() * d()), 0.0);
        sums.Q = quadratic_.data();
    }
    if (phi == Phi::linear || phi == Phi::squared) return;
    require(phi != Phi::own || !own.is_none(), "a user-defined loss must have slopes");
    require(sums.phi == Phi::linear || (sums.phi == phi && sums.parameter == parameter),
            "all losses of a leader must be of one kind");
    const i64 needed = sums.rows + more;
    if (needed > sums.room) {
        const i64 room = in_fours(std::max<i64>({16, 2 * sums.room, needed}));
        std::vector<double> rows(std::size_t(room * d()), 0.0), targets(std::size_t(room), 0.0);
        for (i64 i = 0; i < sums.rows; ++i) {
            targets[std::size_t(i)] = sums.y[i];
            for (i64 j = 0; j < d(); ++j) rows[std::size_t(j * room + i)] = sums.Z[j * sums.room + i];
        }
        rows_.swap(rows);
        targets_.swap(targets);
        sums.Z = rows_.data();
        sums.y = targets_.data();
        sums.room = room;
    }
    sums.phi = phi;
    sums.parameter = parameter;
    if (phi == Phi::own) slopes = own;
}

void LeaderOwner::raise() {
    if (!error) return;
    std::exception_ptr raised;
    std::swap(raised, error);
    std::rethrow_exception(raised);
}

void LeaderOwner::mark() {
    static_cast<PointNumbers&>(marked) = run;
    marked.stream = run.stream;
    for (i64 j = 0; j < width(); ++j) {
        marked.x[j] = run.x[j];
        marked.normals[j] = run.normals[j];
    }
}

void LeaderOwner::back() {
    static_cast<PointNumbers&>(run) = marked;
    run.stream = marked.stream;
    for (i64 j = 0; j < width(); ++j) {
        run.x[j] = marked.x[j];
        run.normals[j] = marked.normals[j];
    }
}

nb::dict LeaderOwner::fields() {
    nb::dict out, numbers, kept;
    each_point_number(run, [&](const char* name, double& x) { numbers[name] = x; });
    out["numbers"] = numbers;
    out["stream"] = words_list(run.stream);
    out["phi"] = int(sums.phi);
    out["parameter"] = sums.parameter;
    out["squares"] = sums.squares;
    out["move"] = array_of(run.x, d());
    out["normals"] = array_of(run.normals, d());
    out["linear"] = array_of(sums.q, d());
    out["quadratic"] = array_of(sums.Q, sums.Q ? d() * d() : 0);
    Fresh<double> rows{std::size_t(d() * sums.rows)};
    for (i64 j = 0; j < d(); ++j)
        for (i64 i = 0; i < sums.rows; ++i) rows.data[j * sums.rows + i] = sums.Z[j * sums.room + i];
    out["rows"] = rows.give();
    out["targets"] = array_of(sums.y, sums.rows);
    if (run.modelled > 0.0) {
        const PointModel& m = model();
        if (region.kind == SetKind::ball) {
            kept["diagonal"] = array_of(m.diagonal, d());
            kept["beside"] = array_of(m.beside, d());
            kept["mirrors"] = array_of(m.mirrors, d() * d());
        } else {
            kept["hessian"] = array_of(m.H, d() * d());
        }
    }
    out["model"] = kept;
    return out;
}

void LeaderOwner::restore(const nb::dict& from) {
    const auto numbers_of = [&](const nb::dict& in, const char* name, i64 count) {
        In<double> found;
        must(nb::try_cast(nb::object(nb::borrow(entry(in, name))), found), name, "must be an array of numbers");
        must(i64(found.size()) == count, name, "must have the length given by the set and the losses");
        std::vector<double> read(found.data(), found.data() + found.size());
        for (double x : read) must(x >= -large && x <= large, name, "must be finite and within the limits of the field");
        return read;
    };
    const auto dictionary = [&](const char* name) {
        nb::dict found;
        must(nb::try_cast(nb::object(nb::borrow(entry(from, name))), found), name, "must be a dictionary");
        return found;
    };
    const auto number = [&](const nb::dict& in, const char* name, double low, double high) {
        double x = 0.0;
        must(nb::try_cast(nb::object(nb::borrow(entry(in, name))), x), name, "must be a number");
        must(x >= low && x <= high, name, "must be finite and within the limits of the field");
        return x;
    };
    const Phi phi = Phi(whole(from, "phi", 0, int(Phi::own) - 1));
    must(phi != Phi::squared, "phi", "must be a kind of loss that is stored row by row, or there must be no rows");
    const double parameter = number(from, "parameter", 0.0, large);
    must(phi == Phi::huber || phi == Phi::hinge ? parameter > 0.0 : parameter == 0.0, "parameter",
         "must be valid for the kind of loss");
    const i64 squares = whole(from, "squares", 0, i64(1) << 53);
    In<double> found;
    must(nb::try_cast(nb::object(nb::borrow(entry(from, "targets"))), found), "targets",
         "must be an array of numbers");
    const i64 rows = i64(found.size());
    must(phi != Phi::linear || rows == 0, "rows",
         "must be a kind of loss that is stored row by row, or there must be no rows");
    const auto targets = numbers_of(from, "targets", rows), Z = numbers_of(from, "rows", d() * rows);
    const auto linear = numbers_of(from, "linear", d()), move = numbers_of(from, "move", d());
    const auto normals = numbers_of(from, "normals", d());
    must(nb::try_cast(nb::object(nb::borrow(entry(from, "quadratic"))), found), "quadratic",
         "must be an array of numbers");
    const bool squared = squares > 0 || found.size() > 0;
    const auto quadratic = numbers_of(from, "quadratic", squared ? d() * d() : 0);
    PointNumbers read;
    const nb::dict numbers = dictionary("numbers");
    each_point_number(read, [&](const char* name, double& x) { x = number(numbers, name, -large, large); });
    const double own = read.own;
    each_point_number(
        read, [&](const char* name, double& x) { must(&x == &read.own || x >= 0.0, name, "must be >= 0"); });
    must(read.round == std::floor(read.round) && read.round <= 0x1p53, "round",
         "must be an integer within the limits of the field");
    must(read.modelled == std::floor(read.modelled) && read.modelled <= 1.0 + double(rows + squares),
         "modelled", "must be an integer, at most the number of losses");
    must(read.last <= read.farthest && read.farthest <= read.distance, "distances",
         "must satisfy last <= farthest <= distance");
    must(std::isfinite(own), "own", "must be finite");
    const Words stream = read_words(from, "stream", true);
    const nb::dict kept = dictionary("model");
    std::vector<double> diagonal, beside, mirrors, hessian;
    if (read.modelled > 0.0) {
        if (region.kind == SetKind::ball) {
            diagonal = numbers_of(kept, "diagonal", d());
            beside = numbers_of(kept, "beside", d());
            mirrors = numbers_of(kept, "mirrors", d() * d());
        } else {
            hessian = numbers_of(kept, "hessian", d() * d());
        }
    }
    // All fields have been read and checked: store them.
    const auto put = [](const std::vector<double>& from_, double* to) {
        for (std::size_t k = 0; k < from_.size(); ++k) to[k] = from_[k];
    };
    sums.phi = Phi::linear;
    sums.rows = 0;
    if (squared) prepare(Phi::squared, 0.0, 0, nb::none());
    if (rows > 0 || phi != Phi::linear) prepare(phi, parameter, rows, nb::none());
    for (i64 i = 0; i < rows; ++i) {
        sums.y[i] = targets[std::size_t(i)];
        for (i64 j = 0; j < d(); ++j) sums.Z[j * sums.room + i] = Z[std::size_t(j * rows + i)];
    }
    sums.rows = rows;
    sums.squares = squares;
    put(quadratic, sums.Q);
    put(linear, sums.q);
    put(move, run.x);
    put(normals, run.normals);
    if (read.modelled > 0.0) {
        PointModel& m = model();
        put(diagonal, m.diagonal);
        put(beside, m.beside);
        put(mirrors, m.mirrors);
        put(hessian, m.H);
    }
    static_cast<PointNumbers&>(run) = read;
    run.stream = stream;
}

}  // namespace hn
