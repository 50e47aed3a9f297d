// hannan._engine.Runs and hannan._engine.Hindsight: whole games, a block of rounds per call, without the interpreter's lock.
#include "../games.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "../players.hpp"
#include "registration.hpp"
#include "setup.hpp"

namespace hn {
namespace {

using WordRows = nb::ndarray<u64, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AdviceArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

static_assert(sizeof(Words) == 4 * sizeof(u64));
Words* words_of(const WordRows& rows) { return reinterpret_cast<Words*>(rows.data()); }

/// Rounds at which the curves are written, and the columns they go to.
struct MarksOwner {
    nb::object ends_object, columns_object;
    Marks marks;
    i64 width = 0;  // the largest column, plus one

    MarksOwner(nb::object ends, nb::object columns) : ends_object(ends), columns_object(columns) {
        const auto at = nb::cast<In<i64>>(ends), to = nb::cast<In<i64>>(columns);
        require(at.size() == to.size(), "ends and columns of marks must have the same length");
        marks = {{at.data(), at.size()}, {to.data(), to.size()}};
        i64 before = 0;
        for (const i64 end : marks.ends) {
            require(end > before, "ends of marks must ascend from 1");
            before = end;
        }
        for (const i64 column : marks.columns) {
            require(column >= 0, "columns of marks must be >= 0");
            width = std::max(width, column + 1);
        }
    }
    void check(i64 rounds, i64 columns) const {
        require(marks.ends.empty() || marks.ends.back() <= rounds, "ends of marks must be <= rounds");
        require(width <= columns, "columns of marks must be below the number of columns of the curves");
    }
};

/// The marks of a block, cut into consecutive parts.
class PartsOfMarks {
public:
    explicit PartsOfMarks(const Marks& all) : all_(all) {}
    /// The marks of the next `rounds` rounds, counted from their first round; valid until the next call.
    Marks next(i64 rounds) {
        near_.clear();
        const std::size_t first = k_;
        for (; k_ < all_.ends.size() && all_.ends[k_] <= begun_ + rounds; ++k_)
            near_.push_back(all_.ends[k_] - begun_);
        begun_ += rounds;
        return {near_, all_.columns.subspan(first, near_.size())};
    }

private:
    const Marks all_;
    std::vector<i64> near_;
    i64 begun_ = 0;
    std::size_t k_ = 0;
};

/// A block of rounds: losses, or their means if there are coins, and the advice of experts.
struct BlockOwner {
    nb::object losses_object, advice_object;
    In<double> losses;
    i64 rounds, per_run, per_round;
    AdviceArray advice;
    WordRows coins;

    BlockOwner(nb::object losses_, i64 rounds_, i64 per_run_, i64 per_round_, nb::object advice_,
               nb::object coins_)
        : losses_object(losses_), advice_object(advice_), losses(nb::cast<In<double>>(losses_)),
          rounds(rounds_), per_run(per_run_), per_round(per_round_) {
        require(rounds >= 0 && per_run >= 0 && per_round >= 0,
                "rounds, per_run and per_round of a block must be >= 0");
        if (!advice_.is_none()) advice = nb::cast<AdviceArray>(advice_);
        if (!coins_.is_none()) {
            coins = nb::cast<WordRows>(coins_);
            require(coins.shape(1) == 4, "coins must have four words per run");
        }
    }
    bool drawn() const { return coins.is_valid(); }
    /// Checks that the losses of runs 0 .. runs - 1 are in the block.
    void check(i64 runs, i64 columns) const {
        require(rounds == 0 || runs == 0 ||
                    per_run * (runs - 1) + per_round * (rounds - 1) + columns <= i64(losses.size()),
                "losses must have one entry per round and column of the block");
        require(!drawn() || i64(coins.shape(0)) >= runs, "coins must have one stream per run");
    }
    AdviceTable table(i64 experts, i64 actions) const {
        AdviceTable made;
        const bool shares = advice.is_valid() && advice.dtype() == nb::dtype<double>();
        require(i64(advice.size()) == rounds * experts * (shares ? actions : 1),
                "advice must have one action, or one distribution, per round and expert");
        if (shares) made.shares = static_cast<const double*>(advice.data());
        else if (advice.dtype() == nb::dtype<u8>()) made.bytes = static_cast<const u8*>(advice.data());
        else {
            require(advice.dtype() == nb::dtype<i64>(), "advice must be uint8, int64 or float64");
            made.actions = static_cast<const i64*>(advice.data());
        }
        return made;
    }
};

void advance(AdviceTable& advice, i64 rounds, i64 experts, i64 actions) {
    if (advice.bytes) advice.bytes += rounds * experts;
    if (advice.actions) advice.actions += rounds * experts;
    if (advice.shares) advice.shares += rounds * experts * actions;
}

/// Find the first advice that is not an action; distributions are checked in Python.
Outcome bad_advice(const AdviceTable& advice, i64 rounds, i64 experts, i64 actions) {
    const i64 count = rounds * experts;
    if (advice.bytes && games().largest_byte(advice.bytes, count) < actions) return {};
    for (i64 k = 0; (advice.bytes || advice.actions) && k < count; ++k) {
        const i64 action = advice.bytes ? i64(advice.bytes[k]) : advice.actions[k];
        if (action < 0 || action >= actions) return Outcome::bad(Outcome::Kind::bad_advice, k, experts);
    }
    return {};
}

/// The arrays that a game fills. `best` and `mean` have one row per loss sequence, or one row for all runs.
struct CurvesOwner {
    OutTable2<double> own, best, mean;
    OutTable2<i64> counts;
    OutTable2<i32> moves;
    nb::object moves_object;

    CurvesOwner(OutTable2<double> own_, OutTable2<double> best_, nb::object mean_, OutTable2<i64> counts_,
                nb::object moves_)
        : own(own_), best(best_), counts(counts_), moves(nb::cast<OutTable2<i32>>(moves_)),
          moves_object(moves_) {
        if (!mean_.is_none()) mean = nb::cast<OutTable2<double>>(mean_);
        require(own.shape(0) == counts.shape(0) && own.shape(0) == moves.shape(0),
                "own, counts and moves must have one row per run");
        require(best.shape(1) == own.shape(1) && (!mean.is_valid() || mean.shape(1) == own.shape(1)),
                "own, best and mean must have the same columns");
    }
    i64 width() const { return i64(own.shape(1)); }
    i64 length() const { return i64(moves.shape(1)); }
    void check(i64 runs, i64 arms, i64 rounds) const {
        require(i64(own.shape(0)) == runs, "own, counts and moves must have one row per run");
        require(i64(counts.shape(1)) == arms, "counts must have one column per arm");
        require(length() == 0 || length() >= rounds, "moves must have one column per round, or no column");
    }
    double* best_of(i64 sequence) const {
        require(sequence >= 0 && sequence < i64(best.shape(0)), "best must have one row per loss sequence");
        return best.data() + sequence * width();
    }
};

/// Cumulative losses of every fixed choice, per loss sequence, and the best of them at each mark, in normalized losses.
/// The fixed choices are the columns of the losses or, with advice, the experts.
class Hindsight {
public:
    Hindsight(i64 columns, i64 experts, double low, double high, bool gains, i64 sequences)
        : columns_(columns), experts_(experts), low_(low), high_(high), gains_(gains) {
        require(columns >= 1 && experts >= 0 && sequences >= 1, "columns and sequences must be >= 1");
        require(low < high, "low must be below high");
        sums_.assign(std::size_t(sequences), std::vector<double>(std::size_t(choices()), 0.0));
        taken_.assign(std::size_t(sequences), 0);
    }
    /// Check the losses of a sequence in a block, and add them up.
    Outcome take(i64 sequence, const BlockOwner& block, const MarksOwner& marks, const CurvesOwner& curves) {
        block.check(block.per_run ? sequence + 1 : 1, columns_);
        marks.check(block.rounds, curves.width());
        double* best = curves.best_of(sequence);
        const AdviceTable advice = experts_ ? block.table(experts_, columns_) : AdviceTable{};
        nb::gil_scoped_release gil;
        Outcome outcome = look(sequence, block, block.losses.data() + block.per_run * sequence, block.rounds,
                               marks.marks, advice, best);
        outcome.run = sequence;
        return outcome;
    }
    /// The same for `rounds` rounds from x on, without checks of the arguments and without the interpreter
    /// lock.
    Outcome look(i64 sequence, const BlockOwner& block, const double* x, i64 rounds, const Marks& marks,
                 const AdviceTable& advice, double* best) {
        require(sequence >= 0 && sequence < i64(sums_.size()), "a sequence must be one of the game");
        std::vector<double>& sums = sums_[std::size_t(sequence)];
        std::vector<double> low(marks.ends.size()), high(marks.ends.size());
        const Extremes out{low.data(), high.data()};
        const i64 taken = taken_[std::size_t(sequence)];
        // Means belong to losses 0 and 1, for every range of the losses.
        const LossBlock losses{x, rounds, columns_, block.drawn() ? 0.0 : low_, block.drawn() ? 1.0 : high_};
        Outcome outcome;
        if (experts_) outcome = follow(block, losses, advice, sums, marks, out);
        else if (block.per_round == 0) steady(losses, taken, sums, marks, out);
        else outcome = games().survey(losses, sums.data(), marks, out);
        if (outcome) return outcome;
        for (std::size_t k = 0; k < low.size(); ++k)
            best[marks.columns[k]] = normal(low[k], high[k], taken + marks.ends[k]);
        taken_[std::size_t(sequence)] += rounds;
        return {};
    }
    i64 columns() const { return columns_; }
    /// Normalized loss of the best choice so far, per loss sequence.
    nb::object best() const {
        Fresh<double> out(sums_.size());
        for (std::size_t k = 0; k < sums_.size(); ++k) {
            const auto [min, max] = std::minmax_element(sums_[k].begin(), sums_[k].end());
            out.data[k] = normal(*min, *max, taken_[k]);
        }
        return out.give();
    }

private:
    i64 columns_, experts_;
    double low_, high_;
    bool gains_;
    std::vector<std::vector<double>> sums_;
    std::vector<i64> taken_;

    i64 choices() const { return experts_ ? experts_ : columns_; }
    double normal(double min, double max, i64 rounds) const {
        if (gains_) return (high_ * double(rounds) - max) / (high_ - low_);
        return low_ == 0.0 && high_ == 1.0 ? min : (min - low_ * double(rounds)) / (high_ - low_);
    }
    /// Constant means: the sums are products, so they do not depend on how a game is cut into blocks.
    static void steady(const LossBlock& losses, i64 taken, std::vector<double>& sums, const Marks& marks,
                       Extremes out) {
        const auto [min, max] = std::minmax_element(losses.x, losses.x + losses.n);
        for (std::size_t k = 0; k < marks.ends.size(); ++k) {
            out.min[k] = double(taken + marks.ends[k]) * *min;
            out.max[k] = double(taken + marks.ends[k]) * *max;
        }
        for (i64 i = 0; i < losses.n; ++i) sums[std::size_t(i)] = losses.x[i] * double(taken + losses.rounds);
    }
    Outcome follow(const BlockOwner& block, const LossBlock& losses, AdviceTable advice,
                   std::vector<double>& sums, const Marks& all, Extremes out) {
        PartsOfMarks marks(all);
        std::vector<double> room(std::size_t(3 * experts_));
        const i64 size = advice.bytes ? 1 : i64(sizeof(double));
        const i64 part = 2 * (advice_near / (2 * size * experts_) + 1);  // an even number of rounds
        for (i64 t = 0; t < losses.rounds; t += part) {
            const i64 some = std::min(part, losses.rounds - t);
            if (Outcome bad = bad_advice(advice, some, experts_, columns_)) {
                bad.round += t;
                return bad;
            }
            const AdvisedBlock here{
                losses.x + block.per_round * t, block.per_round, advice, experts_, columns_, some};
            const Marks next = marks.next(some);
            games().expert_losses(here, sums.data(), next, out, room.data());
            out.min += next.count();
            out.max += next.count();
            advance(advice, some, experts_, columns_);
        }
        // Losses that do not change are checked once. Their sums are not needed.
        std::vector<double> unused(std::size_t(columns_), 0.0);
        LossBlock checked = losses;
        if (block.per_round == 0) checked.rounds = std::min<i64>(1, losses.rounds);
        return games().survey(checked, unused.data(), {}, {});
    }
};

/// The states of all runs of a game. Experts: runs that see the same losses share a state and draw from it.
class Runs {
public:
    nb::object description;
    Description* d;
    Setup setup;
    Room room;
    std::vector<Run> states;
    std::vector<Words> streams;  // experts: of every run
    std::vector<i64> firsts;     // experts: first run of each state
    std::vector<double> own_total, mean_total;
    bool fictitious;

    Runs(nb::object described, WordRows words, std::optional<WordRows> noise,
         std::optional<In<i64>> first_runs, bool fictitious_)
        : description(described), d(nb::cast<Description*>(described)), setup(d->setup),
          room(i64(first_runs ? first_runs->size() : words.shape(0)) * aligned_room(d->setup)),
          states(first_runs ? first_runs->size() : words.shape(0)), fictitious(fictitious_) {
        require(words.shape(1) == 4 && states.size() > 0, "words must have four columns and one row per run");
        require(!noise || (noise->shape(0) == states.size() && noise->shape(1) == 4),
                "noise must have four columns and one row per state");
        require(bool(first_runs) == (setup.setting == Setting::experts),
                "first_runs (the first run of each state) is supported for experts only");
        if (first_runs) {
            streams.assign(words_of(words), words_of(words) + words.shape(0));
            own_total.assign(words.shape(0), 0.0);
            mean_total.assign(states.size(), 0.0);
            firsts.assign(first_runs->data(), first_runs->data() + first_runs->size());
            for (std::size_t k = 0; k < firsts.size(); ++k)
                require(k == 0 ? firsts[k] == 0 : firsts[k] > firsts[k - 1], "first_runs must ascend from 0");
            require(firsts.back() < i64(streams.size()), "first_runs must be runs of the game");
        }
        const i64 size = aligned_room(setup);
        for (std::size_t r = 0; r < states.size(); ++r) {
            states[r].lay_out(setup, room.at(i64(r) * size));
            if (noise) states[r].noise = words_of(*noise)[r];
            if (r == 0 || noise) {
                if (!players().begin(setup, states[r])) failed();
            } else {
                states[r].copy(setup, states[0]);
            }
            states[r].stream = words_of(words)[r];
        }
    }

    /// Play a block with runs first .. last - 1. With a Hindsight, the one run of a bandit also checks its losses.
    Outcome play(i64 first, i64 last, const BlockOwner& block, const MarksOwner& marks,
                 const CurvesOwner& curves, Hindsight* hindsight) {
        const i64 arms = setup.setting == Setting::expert_bandit ? setup.actions : setup.n;
        require(0 <= first && first <= last && last <= i64(count()), "runs must be a range of runs of the game");
        block.check(block.per_run || block.drawn() ? last : 1, arms);
        marks.check(block.rounds, curves.width());
        curves.check(i64(count()), arms, block.rounds);
        Outcome outcome;
        if (setup.setting == Setting::experts) outcome = experts(first, last, block, marks.marks, curves);
        else if (hindsight) outcome = alone(block, marks.marks, curves, *hindsight);
        else outcome = bandit(first, last, block, marks.marks, curves);
        if (outcome.kind == Outcome::Kind::failed) raise_if_foreign(*d);
        return outcome;
    }

    nb::object own() const {
        Fresh<double> out(count());
        for (std::size_t r = 0; r < count(); ++r) out.data[r] = firsts.empty() ? states[r].own : own_total[r];
        return out.give();
    }
    nb::object mean() const { return array_of(mean_total.data(), i64(mean_total.size())); }
    nb::object min_losses() const {
        Fresh<double> out(states.size());
        for (std::size_t r = 0; r < states.size(); ++r)
            out.data[r] = *std::min_element(states[r].L, states[r].L + setup.n);
        return out.give();
    }
    double largest_span() const {
        require(setup.is(Memory::adahedge), "largest_span is available for AdaHedge only");
        double most = 0.0;
        for (const Run& run : states)
            most = std::max(most, reinterpret_cast<const AdaHedgeSums*>(run.memory)->span);
        return most;
    }

private:
    std::size_t count() const { return firsts.empty() ? states.size() : streams.size(); }
    [[noreturn]] void failed() {
        raise_if_foreign(*d);
        PyErr_SetString(PyExc_ArithmeticError, "the smoothing has no solution at its first scale");
        throw nb::python_error();
    }
    BanditJob job_of(i64 first, i64 last, const BlockOwner& block, const CurvesOwner& curves) {
        BanditJob job{&setup, states.data(), first, last, block.rounds};
        job.losses = {block.losses.data(), block.per_run, block.per_round};
        job.coins = block.drawn() ? words_of(block.coins) : nullptr;
        job.own = curves.own.data();
        job.width = curves.width();
        job.counts = curves.counts.data();
        job.length = curves.length();
        job.moves = job.length ? curves.moves.data() : nullptr;
        return job;
    }
    Outcome bandit(i64 first, i64 last, const BlockOwner& block, const Marks& marks,
                   const CurvesOwner& curves) {
        BanditJob job = job_of(first, last, block, curves);
        job.marks = marks;
        if (setup.setting == Setting::bandit) {
            nb::gil_scoped_release gil;
            return games().bandit(job);
        }
        job.advice = block.table(setup.n, setup.actions);
        nb::gil_scoped_release gil;
        // A round without clipping checks the bytes that it uses: a byte is never an index before it was checked.
        if (!job.advice.bytes || setup.clip > 0.0 || setup.kappa > 0.0)
            if (const Outcome bad = bad_advice(job.advice, block.rounds, setup.n, setup.actions)) return bad;
        const Outcome outcome = games().advised(job);
        return outcome.kind == Outcome::Kind::bad_advice
                   ? bad_advice(job.advice, block.rounds, setup.n, setup.actions)
                   : outcome;
    }
    /// One run checks and plays its losses in parts, so that each loss is loaded from memory once.
    Outcome alone(const BlockOwner& block, const Marks& all, const CurvesOwner& curves,
                  Hindsight& hindsight) {
        require(count() == 1 && setup.setting == Setting::bandit && hindsight.columns() == setup.n,
                "hindsight requires a single run of a bandit with the same arms");
        require(block.per_round == setup.n, "hindsight requires losses with one row per round");
        const i64 n = setup.n, part = n < look_ahead ? look_ahead / n : 1;
        BanditJob job = job_of(0, 1, block, curves);
        double* best = curves.best_of(0);
        PartsOfMarks marks(all);
        job.ahead = part * n;
        nb::gil_scoped_release gil;
        for (i64 t = 0; t < block.rounds; t += part) {
            job.rounds = std::min(part, block.rounds - t);
            job.marks = marks.next(job.rounds);
            Outcome outcome = hindsight.look(0, block, job.losses.x, job.rounds, job.marks, {}, best);
            if (!outcome) outcome = games().bandit(job);
            if (outcome) {
                outcome.round += t;
                return outcome;
            }
            job.losses.x += job.rounds * n;
            if (job.moves) job.moves += job.rounds;
        }
        return {};
    }
    Outcome experts(i64 first, i64 last, const BlockOwner& block, const Marks& marks,
                    const CurvesOwner& curves) {
        const auto found = std::find(firsts.begin(), firsts.end(), first);
        const i64 which = found - firsts.begin();
        require(found != firsts.end() && last == (found + 1 == firsts.end() ? i64(count()) : found[1]),
                "a range of runs of experts must be the runs of one state");
        require(curves.mean.is_valid() && curves.mean.shape(0) == curves.best.shape(0),
                "mean and best must have the same rows");
        const i64 n = setup.n, width = curves.width(), length = curves.length();
        // States that see the same losses have the same curves: only those of the first state are kept.
        const bool shared = curves.best.shape(0) == 1;
        std::vector<double> unused(shared && first > 0 ? std::size_t(2 * width) : 0), drawn;
        double* best = unused.empty() ? curves.best_of(shared ? 0 : first) : unused.data();
        double* mean = unused.empty() ? curves.mean.data() + (shared ? 0 : first) * width : best + width;
        require(block.drawn() || block.per_round == n, "losses of experts must have one row per round");
        require(!block.drawn() || last == first + 1, "drawn losses need one state per run");
        nb::gil_scoped_release gil;
        const double* losses = block.losses.data() + block.per_run * first;
        if (block.drawn()) {
            drawn.resize(std::size_t(block.rounds * n));
            games().toss(words_of(block.coins)[first], losses, block.per_round, block.rounds, n,
                         drawn.data());
            losses = drawn.data();
        }
        const ExpertsJob job{&setup,
                             &states[std::size_t(which)],
                             losses,
                             streams.data() + first,
                             last - first,
                             block.rounds,
                             own_total.data() + first,
                             &mean_total[std::size_t(which)],
                             marks,
                             curves.own.data() + first * width,
                             width,
                             mean,
                             best,
                             curves.counts.data() + first * n,
                             length ? curves.moves.data() + first * length : nullptr,
                             length,
                             fictitious};
        Outcome outcome = games().experts(job);
        outcome.run = first;
        return outcome;
    }
};

nb::object toss(Out<u64> coins, In<double> means, i64 stride, i64 rounds, i64 n) {
    require(coins.size() == 4, "coins must have four words");
    require(rounds >= 0 && n >= 1 && (stride == 0 || stride == n), "stride must be 0 or n");
    require(rounds == 0 || stride * (rounds - 1) + n <= i64(means.size()),
            "means must have one entry per round and column");
    Fresh<double> out(std::size_t(rounds * n));
    {
        nb::gil_scoped_release gil;
        games().toss(*reinterpret_cast<Words*>(coins.data()), means.data(), stride, rounds, n, out.data);
    }
    return out.give();
}

}  // namespace

void bind_games(nb::module_& m) {
    nb::class_<Outcome> outcome(m, "Outcome", "How a block of rounds ended; true if it ended early.");
    nb::enum_<Outcome::Kind>(outcome, "Kind")
        .value("fine", Outcome::Kind::fine)
        .value("bad_loss", Outcome::Kind::bad_loss)
        .value("bad_advice", Outcome::Kind::bad_advice)
        .value("failed", Outcome::Kind::failed);
    outcome.def_ro("kind", &Outcome::kind)
        .def_ro("run", &Outcome::run)
        .def_ro("round", &Outcome::round, "Round, counted from 0 in the block.")
        .def_ro("column", &Outcome::column, "Arm, action or expert.")
        .def("__bool__", [](const Outcome& o) { return bool(o); });
    nb::class_<BlockOwner>(m, "Block", "A block of rounds: losses (or means, if there are coins) and advice.")
        .def(nb::init<nb::object, i64, i64, i64, nb::object, nb::object>(), "losses"_a, "rounds"_a,
             nb::kw_only(), "per_run"_a = 0, "per_round"_a = 0, "advice"_a.none() = nb::none(),
             "coins"_a.none() = nb::none())
        .def_ro("losses", &BlockOwner::losses_object)
        .def_ro("rounds", &BlockOwner::rounds)
        .def_ro("per_run", &BlockOwner::per_run)
        .def_ro("per_round", &BlockOwner::per_round)
        .def_ro("advice", &BlockOwner::advice_object);
    nb::class_<MarksOwner>(m, "Marks", "Rounds at which curves are written, and the columns they go to.")
        .def(nb::init<nb::object, nb::object>(), "ends"_a, "columns"_a)
        .def_ro("ends", &MarksOwner::ends_object)
        .def_ro("columns", &MarksOwner::columns_object);
    nb::class_<CurvesOwner>(m, "Curves", "The arrays that a game fills.")
        .def(nb::init<OutTable2<double>, OutTable2<double>, nb::object, OutTable2<i64>, nb::object>(),
             nb::kw_only(), "own"_a, "best"_a, "mean"_a.none() = nb::none(), "counts"_a, "moves"_a)
        .def_ro("moves", &CurvesOwner::moves_object);
    nb::class_<Hindsight>(m, "Hindsight", "Cumulative losses of every fixed choice, and the best of them.")
        .def(nb::init<i64, i64, double, double, bool, i64>(), "columns"_a, "experts"_a, "low"_a, "high"_a,
             "gains"_a, "sequences"_a)
        .def("take", &Hindsight::take, "sequence"_a, "block"_a, "marks"_a, "curves"_a,
             "Check the losses of a sequence in a block, and add them up.")
        .def("best", &Hindsight::best, "Normalized loss of the best choice so far, per loss sequence.");
    nb::class_<Runs>(m, "Runs", "The states of the runs of a game.")
        .def(nb::init<nb::object, WordRows, std::optional<WordRows>, std::optional<In<i64>>, bool>(),
             "setup"_a, "words"_a, "noise"_a.none() = nb::none(), "first_runs"_a.none() = nb::none(),
             "fictitious"_a = false)
        .def(
            "play", &Runs::play, "first"_a, "last"_a, "block"_a, "marks"_a, "curves"_a,
            "hindsight"_a.none() = nb::none(),
            "Play a block of rounds with runs first .. last - 1. With `hindsight`, check the losses as well.")
        .def("own", &Runs::own, "Normalized loss of every run so far.")
        .def("mean", &Runs::mean, "Sum of <p_t, l_t> so far, per state; of experts only.")
        .def("min_losses", &Runs::min_losses, "min_i L_i of every state.")
        .def("largest_span", &Runs::largest_span,
             "Largest loss range of a round, over all states of AdaHedge.");
    m.def("toss", &toss, "coins"_a, "means"_a, "stride"_a, "rounds"_a, "n"_a,
          "Draw losses 0 or 1 from their means.");
}

}  // namespace hn
