// Description of a learner (`Setup`) and the state of one of its runs (`Run`).
#pragma once

#include "found.hpp"  // written by the build: the rows of laws/ and learners/
#include "types.hpp"

namespace hn {

enum class Setting : int { experts, bandit, expert_bandit };

#define HN_NAME(name, ...) name,
#define HN_CASE(name, ...) case Smoothing::name:

/// Smoothings without a header in laws/: regularizers, two distributions, and user-defined smoothings.
#define HN_PLAIN(row) \
    row(entropy) row(tsallis) row(log_barrier) row(exponential) row(laplace) row(table) row(foreign)

/// Regularizers and perturbation distributions: the weights are a function of L and the scale.
enum class Smoothing : int { HN_PLAIN(HN_NAME) HN_LAWS(HN_NAME) };
/// Learners of learners/ whose weights also depend on a memory.
enum class Memory : int { HN_MEMORIES(HN_NAME) };
/// Learners for i.i.d. losses, which count the plays of every arm and estimate no loss of an arm that was not played.
enum class Counter : int { HN_COUNTERS(HN_NAME) };
/// own: the learner draws from a second stream of the run, as the line in its header states.
enum class Noise : int { none, own };
/// Kind of data that the weights are computed from; it selects one of the three enums above.
enum class Weighing : int { smoothing, memory, counter };

enum class Estimator : int {
    importance_weighted,
    geometric,
    conditional,
    reduced_variance,
    implicit,
    foreign
};

/// How the weights are updated. called: one call of smooth() per round. entropy: all weights from L in every round.
/// entropy_one (bandits) and entropy_times (experts, advice): Entropy at a constant scale, with one weight from L per round,
/// or all weights multiplied. half (Tsallis 1/2), barrier (log-barrier) and powers (Tsallis): series expansions.
enum class Path : int { called, entropy, entropy_one, entropy_times, half, barrier, powers };
/// True if the weights are updated by a series after the loss of one arm has changed.
HN_INLINE constexpr bool by_series(Path path) { return path >= Path::half; }

/// scale_t = c sqrt(a + b t + d own), where t is the next round.
struct Schedule {
    double c = 1.0, a = 1.0, b = 0.0, d = 0.0;
    HN_INLINE bool constant() const { return b == 0.0 && d == 0.0; }
};

/// User-defined distribution on a grid: see smoothings/table.hpp.
struct LawTable;

/// User-defined smoothing in Python: write w, and the value if `valued`, at L and scale. Returns false if the call failed.
struct Foreign {
    bool (*weigh)(void* self, const double* L, i64 n, double scale, bool valued, double* w,
                  double* value) = nullptr;
    void* self = nullptr;
};

struct Words;

/// User-defined estimator in Python: return the weight that replaces 1/p of `action`, and write one baseline per arm. p is
/// w / total; `draw` returns the next uniform of the stream. Returns NaN if the call failed.
struct ForeignEstimate {
    double (*weigh)(void* self, i64 action, const double* w, double total, const double* L, i64 n,
                    double scale, Words& stream, double (*draw)(Words&), double* baselines) = nullptr;
    void* self = nullptr;
};

/// Value of `Setup::floor` for a share of uniform play that decreases with the round.
inline constexpr double fourth_root = -1.0;
inline constexpr i64 fan = 16;        // number of weights per stored sum
inline constexpr i64 tree_from = 65;  // smallest number of arms with stored sums; a draw then costs log n
inline constexpr i64 crown = 64;  // largest number of sums at the top level, which also stores partial sums
inline constexpr double refresh = 256;  // rounds after which multiplied weights are recomputed from L
HN_INLINE constexpr i64 in_fans(i64 n) { return (n + fan - 1) & ~(fan - 1); }

struct Setup {
    Setting setting = Setting::bandit;
    Weighing weighing = Weighing::smoothing;
    Smoothing smoothing = Smoothing::entropy;
    Memory memory{};
    Counter counter{};
    Estimator estimator = Estimator::importance_weighted;
    Path path = Path::entropy;
    i64 n = 1, actions = 1;
    double parameter[4] = {0.0, 0.0, 0.0, 0.0};
    Schedule schedule;
    double estimator_parameter = 0.0;
    double floor = 0.0;  // share of uniform play of a bandit; fourth_root: min(1/2, t^(-1/4)) in round t
    double low = 0.0, high = 1.0;
    bool gains = false;
    double clip = 0.0, kappa = 0.0,
           rate = 1.0;   // rho of C_rho; tuned: a = min(1/2, kappa (1 + own)^(-1/3)), scale = rate/eps
    double gamma = 1.0;  // the divergence that the level is measured in
    double origin = 0.0, slope = 1.0;   // normalized loss = (x - origin) slope
    const double* log_prior = nullptr;  // n numbers, or uniform
    const LawTable* table = nullptr;
    const double* grid = nullptr;  // nodes of a heavy-tailed law: see smoothings/heavy.hpp
    Foreign foreign;
    ForeignEstimate foreign_estimate;

    HN_INLINE bool is(Smoothing s) const { return weighing == Weighing::smoothing && smoothing == s; }
    HN_INLINE bool is(Memory m) const { return weighing == Weighing::memory && memory == m; }
    HN_INLINE bool is(Counter c) const { return weighing == Weighing::counter && counter == c; }
    /// True if arms are drawn from a posterior, and the weights are computed only for live players, as probabilities.
    HN_INLINE bool samples() const { return is(Counter::thompson_beta) || is(Counter::thompson_gaussian); }
    /// True if a settlement charges every arm a baseline, which `scratch` stores.
    HN_INLINE bool has_baselines() const {
        return estimator == Estimator::reduced_variance || estimator == Estimator::foreign;
    }
    /// True if a second stream is used: for perturbed losses, random walks, private noise, or coins for losses in (0, 1).
    bool own_noise() const;
    /// True if losses are played in their own units, without a range.
    bool as_they_are() const { return is(Memory::adahedge); }
    /// True if L estimates the losses of every arm, so that learner's loss - min L estimates the regret.
    bool estimates() const { return weighing != Weighing::counter && estimator != Estimator::foreign; }
    HN_INLINE bool tree() const {
        return n >= tree_from && path >= Path::entropy && path <= Path::entropy_times;
    }
    /// Length of L and w: a multiple of 4, or of 16 with stored sums. Beyond n, L is infinite and w is 0.
    HN_INLINE i64 places() const { return tree() ? in_fans(n) : in_fours(n); }
    HN_INLINE i64 tree_places() const {
        if (!tree()) return 0;
        i64 m = in_fans(n) / fan, size = in_fans(m);
        while (m > crown) {
            m = in_fans(m) / fan;
            size += in_fans(m);
        }
        return size + in_fans(m);  // the partial sums
    }
    /// Length of `scratch`: baselines of the last move, or the list of followers (integers) and the K action masses.
    HN_INLINE i64 scratch_places() const {
        if (setting == Setting::expert_bandit) return in_fours(n + 64) + in_fours(actions);
        return has_baselines() ? places() : 0;
    }
    i64 memory_places() const;

    HN_INLINE i64 room() const { return 2 * places() + tree_places() + scratch_places() + memory_places(); }
    double first_scale() const;
};

/// Sums from which the bound of AdaHedge is computed; stored in front of the losses of a round.
struct AdaHedgeSums {
    double
        // Delta, the sum of the mixability gaps; it never decreases, although late feedback can decrease
        // run.drift
        gap;
    double variance;    // V, sum of the variances of the losses under p
    double span;        // largest loss range of one round
    double min_losses;  // sum over rounds of the smallest loss
    double max_losses;  // sum over rounds of the largest loss
};
inline constexpr i64 adahedge_sums = in_fours(sizeof(AdaHedgeSums) / sizeof(double));

// Views of the memory of a run, one per layout. The headers of learners/ and the checks of files read the same fields.

/// Squint, AdaNormalHedge, ML-Poly and dropout: L at the last step, and one sum per arm.
struct SeenAndSums {
    double *seen, *sums;
    HN_INLINE SeenAndSums(double* memory, i64 n) : seen(memory), sums(memory + n) {}
};
/// Fixed share: L at the last step, and the sum of the mix losses.
struct FixedShareMemory {
    double *seen, *mixed;
    HN_INLINE FixedShareMemory(double* memory, i64 n) : seen(memory), mixed(memory + n) {}
};
/// LB-INF: scales g, predictions m, sums S and counts N, one per arm.
struct LbInfMemory {
    double *g, *m, *S, *N;
    HN_INLINE LbInfMemory(double* memory, i64 n)
        : g(memory), m(memory + n), S(memory + 2 * n), N(memory + 3 * n) {}
};
/// Tsallis and Shannon together: moves at the last call, D before the next move, D with the next move.
struct DelayedMemory {
    double *moves, *before, *with;
    HN_INLINE explicit DelayedMemory(double* memory) : moves(memory), before(memory + 1), with(memory + 2) {}
};
/// Learners for i.i.d. losses: number of losses and sum of losses per arm. Thompson sampling also counts its coins.
struct ArmCounts {
    double *count, *sum, *coins;
    HN_INLINE ArmCounts(double* memory, i64 n) : count(memory), sum(memory + n), coins(memory + 2 * n) {}
};

/// Number of doubles that a learner stores in addition to L and w, as its header states.
HN_INLINE i64 Setup::memory_places() const {
#define HN_ROW(kind, name, size) \
    if (is(kind::name)) return size;
#define HN_MEMORY_ROW(name, size, noise) HN_ROW(Memory, name, size)
#define HN_COUNTER_ROW(name, size, noise) HN_ROW(Counter, name, size)
    HN_MEMORIES(HN_MEMORY_ROW)
    HN_COUNTERS(HN_COUNTER_ROW)
    return 0;
}
#undef HN_ROW

inline bool Setup::own_noise() const {
#define HN_ROW(kind, name, noise) \
    if (is(kind::name)) return noise == Noise::own;
#undef HN_MEMORY_ROW
#undef HN_COUNTER_ROW
#define HN_MEMORY_ROW(name, size, noise) HN_ROW(Memory, name, noise)
#define HN_COUNTER_ROW(name, size, noise) HN_ROW(Counter, name, noise)
    HN_MEMORIES(HN_MEMORY_ROW)
    HN_COUNTERS(HN_COUNTER_ROW)
    return false;
}
#undef HN_ROW
#undef HN_MEMORY_ROW
#undef HN_COUNTER_ROW

HN_INLINE double Setup::first_scale() const {
    if (kappa > 0.0) {
        const double a = kappa < 0.5 ? kappa : 0.5;
        const double others = actions > 2 ? double(actions - 1) : 1.0;
        return rate * others / (2.0 * a * a);
    }
    return schedule.c * __builtin_sqrt(schedule.a + schedule.b);
}

/// Share of uniform play in a round, counted from 1; 0 without an exploration floor.
HN_INLINE double floor_share(const Setup& s, double round) {
    if (s.floor >= 0.0) return s.floor;
    return round <= 16.0 ? 0.5 : 1.0 / __builtin_sqrt(__builtin_sqrt(round));
}
/// Probability (1 - share) q + share/n of an arm that the learner plays with probability q, in a round.
HN_INLINE double floored(const Setup& s, double q, double round) {
    if (s.floor == 0.0) return q;
    const double share = floor_share(s, round);
    return (1.0 - share) * q + share / double(s.n);
}

/// State of a random stream (random.hpp).
struct Words {
    u64 a = 0, b = 0, c = 0, d = 0;
    bool operator==(const Words&) const = default;
};

/// Numbers of a run. The current distribution is p_i = w_i / total.
struct RunNumbers {
    i64 round = 0;         // moves drawn so far
    double own = 0.0;      // cumulative normalized loss: <p, l> for experts, realized for bandits
    double scale = 1.0;    // scale of the current weights
    double inverse = 1.0;  // 1 / scale
    double total = 1.0;    // sum of the weights
    double base = 0.0;     // w_i = exp((base - L_i)/scale + log prior_i - top); series: origin of y
    double top = 0.0;
    double warm = 0.0;         // start of the solver; y of the series
    double slope_sum = 0.0;    // series: sum of the next power
    double placed = 0.0;       // Tsallis 1/2 and log-barrier: y at which the weights were evaluated
    double moved = 0.0;        // step from `placed` to the root; both reproduce the weights bit for bit
    double fresh = 0.0;        // multiplicative updates since the weights were computed from L
    double weight = 0.0;       // weight that replaces 1/probability of the last move
    double probability = 0.0;  // probability of the last move
    i64 settled = 0;           // settled rounds
    double paid = 0.0;         // normalized loss of the last settled round
    i64 taken = -1;            // settled rounds that the memory includes; -1 before the first
    i64 arm = 0;               // arm of the last settled round
    double value = 0.0;        // Phi(L) at scale, if requested
    double start = 0.0;        // Phi_1(0), the first term of the regret identity
    double drift = 0.0;        // sum of D_t of the regret identity
    double change = 0.0;       // sum of Phi_t(L_t) - Phi_{t+1}(L_t)
    double level = 0.0;        // largest realized one-step divergence per unit of loss range
    Words stream, noise;
};

/// Visit every number of a run with its name, for writing and for reading. Files store integers as doubles.
template <class Visit>
void each_number(RunNumbers& run, Visit visit) {
    visit("round", run.round);
    visit("own", run.own);
    visit("scale", run.scale);
    visit("total", run.total);
    visit("base", run.base);
    visit("top", run.top);
    visit("warm", run.warm);
    visit("slope_sum", run.slope_sum);
    visit("fresh", run.fresh);
    visit("weight", run.weight);
    visit("probability", run.probability);
    visit("settled", run.settled);
    visit("paid", run.paid);
    visit("taken", run.taken);
    visit("arm", run.arm);
    visit("value", run.value);
    visit("start", run.start);
    visit("drift", run.drift);
    visit("change", run.change);
    visit("level", run.level);
}

struct Run : RunNumbers {
    double *L = nullptr, *w = nullptr, *tree = nullptr, *scratch = nullptr, *memory = nullptr;

    /// Place the arrays in `numbers` (aligned, setup.room() doubles), with L = 0.
    HN_INLINE void lay_out(const Setup& s, double* numbers) {
        L = numbers;
        w = L + s.places();
        tree = w + s.places();
        scratch = tree + s.tree_places();
        memory = scratch + s.scratch_places();
        for (i64 k = 0; k < s.room(); ++k) numbers[k] = 0.0;
        for (i64 k = s.n; k < s.places(); ++k) L[k] = __builtin_inf();
    }
    /// Copy all of another run with the same setup.
    HN_INLINE void copy(const Setup& s, const Run& other) {
        static_cast<RunNumbers&>(*this) = other;
        __builtin_memcpy(L, other.L, std::size_t(s.room()) * sizeof(double));
    }
};

}  // namespace hn
