// A learner in plain fields (`Setup`, what Python describes), and the state of one of its runs (`Run`).
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
/// What the weights are computed from; selects one of the three enums above.
enum class Weighing : int { smoothing, memory, counter };

enum class Estimator : int {
    importance_weighted,
    geometric,
    conditional,
    reduced_variance,
    implicit,
    foreign
};

/// How the weights are kept: by a call a round; Entropy, all made from L each round; Entropy at a constant scale, one
/// made from L each round (bandits), or all multiplied (experts, advice); Tsallis 1/2, the log-barrier, Tsallis: by series.
enum class Path : int { called, entropy, entropy_one, entropy_times, half, barrier, powers };
/// Tsallis and the log-barrier: a series after one changed arm.
HN_INLINE constexpr bool by_series(Path path) { return path >= Path::half; }

/// scale_t = c sqrt(a + b t + d own), t the round about to be played.
struct Schedule {
    double c = 1.0, a = 1.0, b = 0.0, d = 0.0;
    HN_INLINE bool constant() const { return b == 0.0 && d == 0.0; }
};

/// A law of the user's own on a grid: see smoothings/table.hpp.
struct LawTable;

/// A smoothing that only its owner can evaluate: w (and value where asked) at L and scale; false if it failed.
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

inline constexpr i64 fan = 16;        // sums of so many weights are kept
inline constexpr i64 tree_from = 65;  // from so many arms on, so that a draw costs log n
inline constexpr i64 crown = 64;      // at most so many sums are at the top of them, with their partial sums
inline constexpr double refresh = 256;  // multiplied weights are made from L again after so many rounds
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
    double low = 0.0, high = 1.0;
    bool gains = false;
    double clip = 0.0, kappa = 0.0,
           rate = 1.0;   // rho of C_rho; tuned: a = min(1/2, kappa (1 + own)^(-1/3)), scale = rate/eps
    double gamma = 1.0;  // the divergence that the level is measured in
    double origin = 0.0, slope = 1.0;   // normalised loss = (x - origin) slope
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
    HN_INLINE bool tree() const {
        return n >= tree_from && path >= Path::entropy && path <= Path::entropy_times;
    }
    /// How many places L and w have: in fours, or in sixteens below a tree; L is infinite and w is 0 beyond n.
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
    /// Baselines of the last move; or who follows the action (as whole numbers), then the K action masses.
    HN_INLINE i64 scratch_places() const {
        if (setting == Setting::expert_bandit) return in_fours(n + 64) + in_fours(actions);
        return has_baselines() ? places() : 0;
    }
    i64 memory_places() const;

    HN_INLINE i64 room() const { return 2 * places() + tree_places() + scratch_places() + memory_places(); }
    double first_scale() const;
};

/// What a bound of AdaHedge is made of; in front of the losses of a round.
struct AdaHedgeSums {
    double gap;       // Delta, the mixability gaps; never falls, also where a late loss makes run.drift do so
    double variance;  // V, the sum of the variances of the losses under p
    double span;      // the largest span of one round
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
#define HN_ROW(name, size) \
    if (is(HN_KIND::name)) return size;
#define HN_KIND Memory
    HN_MEMORIES(HN_ROW)
#undef HN_KIND
#define HN_KIND Counter
    HN_COUNTERS(HN_ROW)
#undef HN_KIND
#undef HN_ROW
    return 0;
}

HN_INLINE double Setup::first_scale() const {
    if (kappa > 0.0) {
        const double a = kappa < 0.5 ? kappa : 0.5;
        const double others = actions > 2 ? double(actions - 1) : 1.0;
        return rate * others / (2.0 * a * a);
    }
    return schedule.c * __builtin_sqrt(schedule.a + schedule.b);
}

/// The four words of a stream (random.hpp).
struct Words {
    u64 a = 0, b = 0, c = 0, d = 0;
    bool operator==(const Words&) const = default;
};

/// The numbers of a run. p_i = w_i / total is the distribution in place.
struct RunNumbers {
    double round = 0.0;    // moves drawn so far
    double own = 0.0;      // own normalised loss so far: <p, l> for experts, realised for bandits
    double scale = 1.0;    // the scale that the weights in place were made with
    double inverse = 1.0;  // 1 / scale
    double total = 1.0;    // the sum of the weights
    double base = 0.0;  // w_i = exp((base - L_i)/scale + log prior_i - top); series: where y is measured from
    double top = 0.0;
    double warm = 0.0;       // where a solver starts; y of the series
    double slope_sum = 0.0;  // of the series: the sum of the next power
    double placed =
        0.0;  // of Tsallis 1/2 and the log-barrier: the y that the weights were passed at, and the step
    double moved = 0.0;   // from there to the root: the weights can be made again from these, to the last bit
    double fresh = 0.0;   // multiplicative updates since the weights were last made from L
    double weight = 0.0;  // what stands for 1/probability of the move just drawn
    double probability = 0.0;  // of the move just drawn
    double settled = 0.0;      // steps settled so far
    double paid = 0.0;         // own normalised loss of the last step
    double taken = -1.0;       // settled steps that a memory has taken in
    double arm = 0.0;          // the arm of the last step
    double value = 0.0;        // Phi(L) at scale, when asked for
    double start = 0.0;        // Phi_1(0), the first term of the master identity
    double drift = 0.0;        // sum of D_t of the master identity
    double change = 0.0;       // sum of Phi_t(L_t) - Phi_{t+1}(L_t)
    double level = 0.0;        // largest realised one-step divergence over the span of the loss
    Words stream, noise;
};

struct Run : RunNumbers {
    double *L = nullptr, *w = nullptr, *tree = nullptr, *scratch = nullptr, *memory = nullptr;

    /// Arrays laid out in `numbers` (setup.room() of them, aligned), L = 0 and nothing else begun.
    HN_INLINE void lay_out(const Setup& s, double* numbers) {
        L = numbers;
        w = L + s.places();
        tree = w + s.places();
        scratch = tree + s.tree_places();
        memory = scratch + s.scratch_places();
        for (i64 k = 0; k < s.room(); ++k) numbers[k] = 0.0;
        for (i64 k = s.n; k < s.places(); ++k) L[k] = __builtin_inf();
    }
    /// All of another run of the same setup.
    HN_INLINE void copy(const Setup& s, const Run& other) {
        static_cast<RunNumbers&>(*this) = other;
        __builtin_memcpy(L, other.L, std::size_t(s.room()) * sizeof(double));
    }
};

}  // namespace hn
