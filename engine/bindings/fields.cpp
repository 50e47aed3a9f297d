#include "fields.hpp"

#include <span>

#include "../players.hpp"

namespace hn {

namespace {
void counts(const char* name, double x, double low, double high) {
    must(x >= low && x <= high && x == std::floor(x), name, "must be an integer within the limits of the field");
}
void counts(const char* name, i64 x, i64 low, i64 high) {
    must(x >= low && x <= high, name, "must be an integer within the limits of the field");
}
}  // namespace

void check_numbers(const Setup& s, RunNumbers& run) {
    const auto finite = [&](const char* name, double x) { must(std::isfinite(x), name, "must be finite"); };
    counts("round", run.round, 0, i64(1) << 53);
    counts("settled", run.settled, 0, run.round);
    counts("taken", run.taken, -1, run.round);
    counts("fresh", run.fresh, 0.0, refresh);
    counts("arm", run.arm, 0, s.n - 1);
    // AdaHedge accepts losses in any units and starts at scale 0.
    const bool any_units = s.is(Memory::adahedge);
    finite("own", run.own);
    must(any_units || (run.own >= 0.0 && run.own <= double(run.round) * (1.0 + 1e-9) + 1e-9), "own",
         "must be in [0, rounds]");
    must((any_units ? run.scale >= 0.0 : run.scale > 0.0) && std::isfinite(run.scale), "scale",
         "must be finite and > 0");
    run.inverse = run.scale > 0.0 ? 1.0 / run.scale : 0.0;
    must(run.total > 0.0 && std::isfinite(run.total), "total", "must be finite and > 0");
    finite("base", run.base);
    finite("top", run.top);
    finite("warm", run.warm);
    finite("slope_sum", run.slope_sum);
    finite("paid", run.paid);
    must(run.weight >= 0.0 && std::isfinite(run.weight), "weight", "must be finite and >= 0");
    must(run.probability >= 0.0 && run.probability <= 1.0 + 1e-9, "probability", "must be in [0, 1]");
    must(run.level >= 0.0, "level", "must be >= 0");
}

void check_weights(const Setup& s, const Run& run) {
    double sum = 0.0;
    for (i64 k = 0; k < s.n; ++k) {
        must(run.w[k] >= 0.0 && run.w[k] <= 1.7e308, "weights", "must have finite weights >= 0");
        sum += run.w[k];
    }
    must(std::fabs(sum - run.total) <= 1e-6 * run.total, "weights", "must sum to their total");
}

namespace {

/// If a memory begins with the losses of the last step, they are the current losses, because every settled
/// step has been processed.
void check_seen(const Setup& s, const Run& run) {
    for (i64 i = 0; i < s.n; ++i) must(run.memory[i] == run.L[i], "memory", "must equal the cumulative losses");
}

void check_delayed(const DelayedMemory& delayed, const Run& run) {
    const double drawn = double(run.round), limit = drawn * drawn;
    counts("memory", *delayed.moves, 0.0, drawn);
    counts("memory", *delayed.before, 0.0, limit);
    counts("memory", *delayed.with, *delayed.before, limit);
}

void check_counts(const Setup& s, const Run& run) {
    const ArmCounts arms(run.memory, s.n);
    const double settled = double(run.settled);
    double plays = 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        const double count = arms.count[i], sum = arms.sum[i];
        counts("memory", count, 0.0, settled);
        must(sum >= 0.0 && sum <= count * (1.0 + 1e-9), "memory",
             "must have sums of at most one per loss, because losses are in [0, 1]");
        if (s.is(Counter::thompson_beta)) counts("memory", sum, 0.0, count);
        plays += count;
    }
    if (s.samples()) counts("memory", *arms.coins, 0.0, settled);
    must(s.is(Counter::explore_then_commit) ? plays <= settled : plays == settled, "memory",
         "must have counts that sum to the settled rounds");
}

}  // namespace

void check_memory(const Setup& s, const Run& run) {
    double* memory = run.memory;
    const i64 n = s.n;
    const double settled = double(run.settled);
    if (s.weighing == Weighing::counter) return check_counts(s, run);
    if (s.weighing == Weighing::smoothing) return;
    switch (s.memory) {
        case Memory::squint:
        case Memory::ada_normal_hedge:
        case Memory::ml_poly:
            check_seen(s, run);
            for (const double sum : std::span(SeenAndSums(memory, n).sums, std::size_t(n)))
                must(sum >= 0.0 && sum <= settled * (1.0 + 1e-9), "memory",
                     "must have sums of at most one per round in absolute value, because regrets are in [-1, 1]");
            return;
        case Memory::fixed_share: check_seen(s, run); return;
        case Memory::green:
        case Memory::exp3_light: return;  // functions of the losses
        case Memory::dropout:
            check_seen(s, run);
            for (const double sum : std::span(SeenAndSums(memory, n).sums, std::size_t(n)))
                counts("memory", sum, 0.0, settled);
            return;
        case Memory::random_walk:  // half a step before every round
            for (i64 i = 0; i < n; ++i)
                counts("memory", 2.0 * memory[i], -1.0 - settled, 1.0 + settled);
            return;
        case Memory::random_playout:
            for (i64 i = 0; i < n; ++i)
                must(std::fabs(memory[i]) <= 40.0 * s.parameter[1] * std::sqrt(s.parameter[0]), "memory",
                     "have sums of normal numbers, each below 40 standard deviations");
            return;
        case Memory::tsallis_shannon: check_delayed(DelayedMemory(memory), run); return;
        case Memory::private_hedge: {  // L + G, padding and seven states per arm; powers, norm and block
            const double most = 40.0 * (1.0 + settled);
            for (i64 k = n; k < 9 * n; ++k)
                must(std::fabs(memory[k]) <= most, "memory", "must have sums of normal random numbers below 40 each");
            for (i64 k = 9 * n; k < 9 * n + 7; ++k)
                must(memory[k] >= 0.0 && memory[k] <= 1.0, "memory", "must have powers of decay rates in [0, 1]");
            must(memory[9 * n + 7] >= 0.0 && memory[9 * n + 7] <= settled, "memory",
                 "must have a variance of at most one per round");
            counts("memory", memory[9 * n + 8], 0.0, 0x1p53);
            return;
        }
        case Memory::adahedge: {
            const auto& sums = *reinterpret_cast<const AdaHedgeSums*>(memory);
            must(sums.gap >= 0.0 && sums.variance >= 0.0 && sums.span >= 0.0, "memory",
                 "must have a gap, a variance and a range >= 0");
            must(sums.min_losses <= sums.max_losses, "memory",
                 "must have sums of smallest losses that are at most those of the largest");
            return;
        }
        case Memory::lb_inf: {
            const LbInfMemory lb(memory, n);
            for (i64 i = 0; i < n; ++i) {
                must(lb.g[i] >= 2.0, "memory", "must have scales >= 2");
                must(lb.m[i] >= 0.0 && lb.m[i] <= 1.0, "memory", "must have predictions in [0, 1]");
                counts("memory", lb.N[i], 0.0, settled);
            }
            return;
        }
    }
}

void check_identity(const RunNumbers& run, double start, bool told) {
    if (!std::isfinite(start)) return;  // the potential is missing or infinite
    must(std::isfinite(run.start) && std::isfinite(run.value) && std::isfinite(run.drift) &&
             std::isfinite(run.change),
         "start, value, drift and change", "must be finite");
    if (!told) return;
    must(std::fabs(run.start - start) <= 1e-9 * (1.0 + std::fabs(start)), "start",
         "must equal the potential at zero losses");
    const double sum = run.value - run.start + run.drift + run.change;
    must(std::fabs(run.own - sum) <= 1e-6 * (1.0 + double(run.round) + std::fabs(run.start)), "own",
         "must satisfy the regret identity");
}

void must_agree(const Setup& s, const Run& run, Run& twin) {
    const bool takes = s.weighing != Weighing::smoothing && !s.is(Memory::adahedge);
    must(run.taken == (takes ? run.settled : -1), "taken",
         "must equal the number of settled rounds for learners with a memory, and -1 for others");
    if (s.is(Memory::tsallis_shannon)) return;  // its weights are recomputed at the next move
    twin.copy(s, run);
    must(players().weigh_anew(s, twin), "losses", "must be losses for which the smoothing can compute weights");
    for (i64 i = 0; i < s.n; ++i)
        must(std::fabs(twin.w[i] / twin.total - run.w[i] / run.total) <= 1e-6, "weights",
             "must be the weights computed from the losses");
}

void read_fields(const Setup& s, Run& run, const nb::dict& from, bool sees_all) {
    const nb::dict numbers = nb::cast<nb::dict>(entry(from, "numbers"));
    each_number(run, [&]<class Number>(const char* name, Number& x) {
        double found = 0.0;
        must(nb::try_cast(nb::object(nb::borrow(entry(numbers, name))), found), name, "must be a number");
        if constexpr (std::is_same_v<Number, i64>) x = counted(name, found);
        else x = found;
    });
    check_numbers(s, run);
    run.stream = read_words(from, "stream", true);
    run.noise = read_words(from, "noise", false);
    const double drawn = double(run.round);
    const bool bounded = sees_all && !s.is(Memory::adahedge);
    const double most = bounded ? drawn * (1.0 + 1e-9) + 1e-9 : 1.7e308;
    read_array(from, "losses", s.n, run.L, bounded ? -1e-9 * (1.0 + drawn) : -1.7e308, most);
    read_array(from, "weights", s.n, run.w, 0.0, 1.7e308);
    check_weights(s, run);
    read_array(from, "memory", s.memory_places(), run.memory, -1.7e308, 1.7e308);
    check_memory(s, run);
    const bool own = s.estimator == Estimator::foreign;
    read_array(from, "baselines", s.has_baselines() ? s.n : 0, run.scratch, own ? -1.7e308 : 0.0,
               own ? 1.7e308 : 0.5);
    players().restore_sums(s, run);
}

}  // namespace hn
