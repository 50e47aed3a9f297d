// hannan._engine.Runs: the states of many runs, moved a block of rounds at a time without the interpreter's lock.
#include "../games.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>
#include <vector>

#include "../players.hpp"
#include "registration.hpp"
#include "setup.hpp"

namespace hn {
namespace {

using WordRows = nb::ndarray<u64, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyFlat = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Marks marks_of(const In<i64>& ends, const In<i64>& columns, i64 rounds, i64 width) {
    require(ends.size() == columns.size(), "every mark has a column");
    i64 before = 0;
    for (std::size_t k = 0; k < ends.size(); ++k) {
        require(ends.data()[k] > before && ends.data()[k] <= rounds,
                "marks must ascend, from 1 to the rounds");
        require(columns.data()[k] >= 0 && columns.data()[k] < width, "a column must be in the curve");
        before = ends.data()[k];
    }
    return {ends.data(), columns.data(), i64(ends.size())};
}

/// The marks of a block, a part of its rounds after another.
class PartOfMarks {
public:
    explicit PartOfMarks(const Marks& all) : all(all) {}
    /// Those of the next `rounds` rounds, counted from their first; they hold until the next call.
    Marks next(i64 rounds) {
        near.clear();
        const i64 first = k;
        for (; k < all.count && all.ends[k] <= begun + rounds; ++k) near.push_back(all.ends[k] - begun);
        begun += rounds;
        return {near.data(), all.columns + first, i64(near.size())};
    }

private:
    const Marks all;
    std::vector<i64> near;
    i64 begun = 0, k = 0;
};

static_assert(sizeof(Words) == 4 * sizeof(u64));
Words* words_of(WordRows& rows) { return reinterpret_cast<Words*>(rows.data()); }

/// Advice of a block into a job: bytes, whole numbers, or shares.
void hear(BanditJob& job, const AnyFlat& advice, i64 n, i64 actions, i64 rounds) {
    const bool shares = advice.dtype() == nb::dtype<double>();
    require(i64(advice.size()) == rounds * n * (shares ? actions : 1),
            "advice must be an action, or shares, per expert and round");
    if (shares) job.shares = static_cast<const double*>(advice.data());
    else if (advice.dtype() == nb::dtype<u8>()) job.advice8 = static_cast<const u8*>(advice.data());
    else {
        require(advice.dtype() == nb::dtype<i64>(), "advice must be bytes, whole numbers, or shares");
        job.advice = static_cast<const i64*>(advice.data());
    }
}
/// The next so many of a job's pieces of advice: actions were checked where they came in, but for bytes; again here.
void check(const BanditJob& job, i64 actions, i64 count) {
    require(!job.advice8 || games().largest_byte(job.advice8, count) < actions, "advice must be an action");
    for (i64 k = 0; job.advice && k < count; ++k)
        require(job.advice[k] >= 0 && job.advice[k] < actions, "advice must be an action");
}

class Runs {
public:
    nb::object description;
    Description* d;
    Setup setup;
    Room room;
    std::vector<Run> runs;

    Runs(nb::object described, WordRows words, WordRows noise)
        : description(described), d(nb::cast<Description*>(described)), setup(d->setup),
          room(i64(words.shape(0)) * aligned_room(d->setup)), runs(words.shape(0)) {
        require(words.shape(1) == 4 && runs.size() > 0, "a stream has four words");
        const bool own_noise = noise.shape(0) > 0;
        require(!own_noise || (noise.shape(0) == words.shape(0) && noise.shape(1) == 4),
                "a stream of noise a run");
        const i64 size = aligned_room(setup);
        for (std::size_t r = 0; r < runs.size(); ++r) {
            runs[r].lay_out(setup, room.at(i64(r) * size));
            if (own_noise) runs[r].noise = words_of(noise)[r];
            if (r == 0 || own_noise) {
                if (!players().begin(setup, runs[r])) failed();
            } else {
                runs[r].copy(setup, runs[0]);
            }
            runs[r].stream = words_of(words)[r];
        }
    }
    [[noreturn]] void failed() {
        raise_if_foreign(*d);
        PyErr_SetString(PyExc_ArithmeticError, "the smoothing failed at its first scale");
        throw nb::python_error();
    }

    i64 bandit(i64 first, i64 last, In<double> losses, i64 per_run, i64 per_round, WordRows coins, i64 rounds,
               In<i64> ends, In<i64> columns, OutTable2<double> own, OutTable2<i64> counts,
               OutTable2<i32> moves, nb::object advice) {
        BanditJob job = asked(first, last, losses, per_run, per_round, coins, rounds, own, counts, moves);
        job.marks = marks_of(ends, columns, rounds, job.width);
        const bool advised = setup.setting == Setting::expert_bandit;
        const auto said = advised ? nb::cast<AnyFlat>(advice) : AnyFlat();
        i64 status;
        {
            nb::gil_scoped_release gil;
            if (advised) hear(job, said, setup.n, setup.actions, rounds);
            // Unclipped, no byte is an index before it is looked at.
            if (!job.advice8 || setup.clip > 0.0 || setup.kappa > 0.0)
                check(job, setup.actions, rounds * setup.n);
            status = advised ? games().advised(job) : games().bandit(job);
        }
        require(status != no_action, "advice must be an action");
        if (status >= 0) raise_if_foreign(*d);
        return status;
    }

    /// The one run of a game plays losses that nobody has looked at: as `survey` and `bandit`, some at a time.
    std::tuple<i64, i64> bandit_alone(In<double> losses, WordRows coins, i64 rounds, In<i64> ends,
                                      In<i64> columns, OutTable2<double> own, OutTable2<i64> counts,
                                      OutTable2<i32> moves, double low, double high, Out<double> sums,
                                      Out<double> least, Out<double> most) {
        const i64 n = setup.n, part = n < look_ahead ? look_ahead / n : 1;
        require(runs.size() == 1 && setup.setting == Setting::bandit && i64(sums.size()) == n,
                "a run must be alone, with a sum an arm");
        BanditJob job = asked(0, 1, losses, 0, n, coins, rounds, own, counts, moves);
        PartOfMarks marks(marks_of(ends, columns, rounds, job.width));
        require(ends.size() == 0 || (i64(least.size()) == job.width && most.size() == least.size()),
                "curves must be of one length");
        job.ahead = part * n;
        i64 status = -1;
        {
            nb::gil_scoped_release gil;
            for (i64 t = 0; t < rounds; t += part) {
                job.rounds = t + part < rounds ? part : rounds - t;
                job.marks = marks.next(job.rounds);
                const i64 bad = games().survey(job.losses.x, job.rounds, n, low, high, sums.data(), job.marks,
                                               least.data(), most.data());
                if (bad >= 0) return {t * n + bad, -1};
                status = games().bandit(job);
                if (status >= 0) break;
                job.losses.x += part * n;
                if (job.moves) job.moves += part;
            }
        }
        if (status >= 0) raise_if_foreign(*d);
        return {-1, status};
    }

    BanditJob asked(i64 first, i64 last, In<double> losses, i64 per_run, i64 per_round, WordRows coins,
                    i64 rounds, OutTable2<double> own, OutTable2<i64> counts, OutTable2<i32> moves) {
        const i64 all = i64(runs.size()),
                  arms = setup.setting == Setting::expert_bandit ? setup.actions : setup.n;
        require(0 <= first && first <= last && last <= all, "runs must be of the game");
        require(rounds >= 0 && per_run >= 0 && per_round >= 0, "strides must be at least 0");
        require(rounds == 0 || last == first ||
                    per_run * (last - 1) + per_round * (rounds - 1) + arms <= i64(losses.size()),
                "losses must reach to the last round");
        require(i64(own.shape(0)) == all && i64(counts.shape(0)) == all && i64(counts.shape(1)) == arms &&
                    i64(moves.shape(0)) == all,
                "curves, counts and moves must have one row per run");
        require(moves.shape(1) == 0 || i64(moves.shape(1)) >= rounds, "moves must have one column per round");
        require(coins.shape(0) == 0 || (i64(coins.shape(0)) == all && coins.shape(1) == 4),
                "coins must be one stream per run");
        return {&setup,
                runs.data(),
                first,
                last,
                rounds,
                {losses.data(), per_run, per_round},
                coins.shape(0) ? words_of(coins) : nullptr,
                {},
                own.data(),
                i64(own.shape(1)),
                counts.data(),
                moves.shape(1) ? moves.data() : nullptr,
                i64(moves.shape(1))};
    }

    i64 experts(i64 which, In<double> losses, i64 start, WordRows streams, i64 first, i64 last,
                Out<double> totals, i64 rounds, In<i64> ends, In<i64> columns, OutTable2<double> own,
                Out<double> mean, Out<double> best, OutTable2<i64> counts, OutTable2<i32> moves,
                bool fictitious) {
        const i64 drawn = last - first, n = setup.n;
        require(0 <= which && which < i64(runs.size()), "a state must be of the game");
        require(0 <= first && first <= last && last <= i64(streams.shape(0)) && streams.shape(1) == 4,
                "one stream per run");
        require(start >= 0 && rounds >= 0 && start + rounds * n <= i64(losses.size()),
                "losses must reach to the last round");
        require(i64(totals.size()) == drawn + 1, "a total a run, and one more");
        require(i64(own.shape(0)) >= last && i64(counts.shape(0)) >= last && i64(counts.shape(1)) == n &&
                    i64(moves.shape(0)) >= last,
                "curves, counts and moves must have one row per run");
        require(moves.shape(1) == 0 || i64(moves.shape(1)) >= rounds, "moves must have one column per round");
        const i64 width = i64(own.shape(1)), length = i64(moves.shape(1));
        require(i64(mean.size()) >= width && i64(best.size()) >= width, "curves must be of one length");
        ExpertsJob job{&setup,
                       &runs[std::size_t(which)],
                       losses.data() + start,
                       words_of(streams) + first,
                       drawn,
                       rounds,
                       totals.data(),
                       marks_of(ends, columns, rounds, width),
                       own.data() + first * width,
                       width,
                       mean.data(),
                       best.data(),
                       counts.data() + first * n,
                       length ? moves.data() + first * length : nullptr,
                       length,
                       fictitious};
        i64 status;
        {
            nb::gil_scoped_release gil;
            status = games().experts(job);
        }
        if (status < -1) raise_if_foreign(*d);
        return status;
    }

    nb::object own() const {
        Fresh<double> out(runs.size());
        for (std::size_t r = 0; r < runs.size(); ++r) out.data[r] = runs[r].own;
        return out.give();
    }
    double largest_span() const {
        require(setup.smoothing == Smoothing::adahedge, "only AdaHedge has spans");
        double most = 0.0;
        for (const Run& run : runs) {
            const double span = reinterpret_cast<const AdaHedgeSums*>(run.memory)->span;
            most = span > most ? span : most;
        }
        return most;
    }
    /// min_i L_i of every run.
    nb::object least() const {
        Fresh<double> out(runs.size());
        for (std::size_t r = 0; r < runs.size(); ++r) {
            double low = runs[r].L[0];
            for (i64 i = 1; i < setup.n; ++i) low = runs[r].L[i] < low ? runs[r].L[i] : low;
            out.data[r] = low;
        }
        return out.give();
    }
};

i64 survey(In<double> losses, i64 start, i64 rounds, i64 n, double low, double high, Out<double> sums,
           In<i64> ends, In<i64> columns, Out<double> least, Out<double> most) {
    require(n >= 1 && start >= 0 && rounds >= 0 && start + rounds * n <= i64(losses.size()),
            "losses must reach to the last round");
    require(i64(sums.size()) == n, "a sum an arm");
    const Marks marks = marks_of(ends, columns, rounds, i64(least.size()));
    require(ends.size() == 0 || most.size() == least.size(), "curves must be of one length");
    nb::gil_scoped_release gil;
    return games().survey(losses.data() + start, rounds, n, low, high, sums.data(), marks, least.data(),
                          most.data());
}

void expert_losses(In<double> losses, i64 start, i64 stride, AnyFlat advice, i64 n, i64 actions, i64 rounds,
                   Out<double> sums, In<i64> ends, In<i64> columns, Out<double> least, Out<double> most) {
    require(n >= 1 && actions >= 1 && start >= 0 && rounds >= 0 && (stride == 0 || stride == actions),
            "shapes must agree");
    require(rounds == 0 || start + stride * (rounds - 1) + actions <= i64(losses.size()),
            "losses must reach to the last round");
    require(i64(sums.size()) == n && most.size() == least.size(), "a sum an expert");
    PartOfMarks marks(marks_of(ends, columns, rounds, i64(least.size())));
    std::vector<double> room(std::size_t(3 * n));
    BanditJob heard{};
    hear(heard, advice, n, actions, rounds);
    nb::gil_scoped_release
        gil;  // before the advice is looked at, byte by byte: another thread begins to play meanwhile
    const i64 part = 2 * (advice_near / (2 * i64(advice.itemsize()) * n) + 1);  // an even number of rounds
    for (i64 t = 0; t < rounds; t += part) {
        const i64 some = t + part < rounds ? part : rounds - t;
        check(heard, actions, some * n);
        games().expert_losses(losses.data() + start + stride * t, stride, heard, n, actions, some,
                              sums.data(), marks.next(some), least.data(), most.data(), room.data());
        if (heard.advice8) heard.advice8 += some * n;
        if (heard.advice) heard.advice += some * n;
        if (heard.shares) heard.shares += some * n * actions;
    }
}

nb::object toss(Out<u64> coins, In<double> means, i64 stride, i64 rounds, i64 n) {
    require(coins.size() == 4 && rounds >= 0 && n >= 1 && (stride == 0 || stride == n), "shapes must agree");
    require(rounds == 0 || stride * (rounds - 1) + n <= i64(means.size()),
            "means must reach to the last round");
    Fresh<double> out(std::size_t(rounds * n));
    {
        nb::gil_scoped_release gil;
        Words words = words_at(coins.data());
        games().toss(words, means.data(), stride, rounds, n, out.data);
        coins.data()[0] = words.a;
        coins.data()[1] = words.b;
        coins.data()[2] = words.c;
        coins.data()[3] = words.d;
    }
    return out.give();
}

}  // namespace

void bind_games(nb::module_& m) {
    nb::class_<Runs>(m, "Runs", "The states of the runs of a game.")
        .def(nb::init<nb::object, WordRows, WordRows>(), "setup"_a, "words"_a, "noise"_a)
        .def("bandit", &Runs::bandit, "first"_a, "last"_a, "losses"_a, "per_run"_a, "per_round"_a, "coins"_a,
             "rounds"_a, "ends"_a, "columns"_a, "own"_a, "counts"_a, "moves"_a,
             "advice"_a.none() = nb::none(),
             "Play a block of bandit rounds with runs first .. last - 1: -1, or the round at which a "
             "smoothing failed.")
        .def("bandit_alone", &Runs::bandit_alone, "losses"_a, "coins"_a, "rounds"_a, "ends"_a, "columns"_a,
             "own"_a, "counts"_a, "moves"_a, "low"_a, "high"_a, "sums"_a, "least"_a, "most"_a,
             "Check a block of losses and play it with the one run: (-1, or the place of the first bad "
             "entry; -1, or the round).")
        .def("experts", &Runs::experts, "which"_a, "losses"_a, "start"_a, "streams"_a, "first"_a, "last"_a,
             "totals"_a, "rounds"_a, "ends"_a, "columns"_a, "own"_a, "mean"_a, "best"_a, "counts"_a,
             "moves"_a, "fictitious"_a,
             "Play a block with one state, drawing for runs first .. last - 1: -1; t n + i at a bad loss; -2 "
             "- t on failure.")
        .def("own", &Runs::own, "Own normalised loss of every run.")
        .def("least", &Runs::least, "min_i L_i of every run.")
        .def("largest_span", &Runs::largest_span, "Of AdaHedge: the largest span of a round, of all runs.");
    m.def("survey", &survey, "losses"_a, "start"_a, "rounds"_a, "n"_a, "low"_a, "high"_a, "sums"_a, "ends"_a,
          "columns"_a, "least"_a, "most"_a,
          "Check a block and add its rows to `sums`: -1, or the place of the first bad entry.");
    m.def("expert_losses", &expert_losses, "losses"_a, "start"_a, "stride"_a, "advice"_a, "n"_a, "actions"_a,
          "rounds"_a, "sums"_a, "ends"_a, "columns"_a, "least"_a, "most"_a,
          "Add each expert's loss to `sums`.");
    m.def("toss", &toss, "coins"_a, "means"_a, "stride"_a, "rounds"_a, "n"_a,
          "Losses 0 or 1, drawn from their means.");
}

}  // namespace hn
