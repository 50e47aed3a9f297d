#include "../evidence.hpp"

#include "../log.hpp"

namespace hn::HN_ISA {
namespace {

constexpr int vectors = bets / 4;

/// lambda_j = 2^-j, four at a time.
HN_INLINE f64x4 lambdas(int k) {
    const double first = 1.0 / double(1 << 4 * k);
    return f64x4{first, 0.5 * first, 0.25 * first, 0.125 * first};
}

/// Center of a draw with probability p: share of a loss that is subtracted in advance, per bet.
HN_INLINE f64x4 main_center(double center, double p, f64x4 lambda) {
    return p < smallest_probability ? f64x4{} : min(splat(center), splat(center_share * p) / lambda);
}
/// Centers for the table of realized losses, from log[(1 - p/2)/(1 - p)].
HN_INLINE f64x4 regret_center(double center, double p, double reach, f64x4 mu) {
    if (p < smallest_probability) return f64x4{};
    return p >= 1.0 ? splat(center) : min(splat(center), splat(reach) / mu);
}
HN_INLINE double regret_reach(double p) {
    return p < smallest_probability || p >= 1.0 ? 0.0 : log1p(center_share * p / (1.0 - p));
}
HN_INLINE f64x4 main_factor(double x, f64x4 center, double p, f64x4 lambda) {
    return 1.0 + lambda * (splat(x) - center) / splat(max(p, smallest_probability));
}
HN_INLINE f64x4 regret_factor_of(double x, f64x4 center, double p, f64x4 mu) {
    const f64x4 y = mu * (splat(x) - center);
    const double q = max(p, smallest_probability);
    // The difference e^y - (1 - p) is accurate for likely arms, and e^y - 1 for the others.
    return q < 0.5 ? 1.0 + expm1(y) / splat(q) : (exp(y) - splat(1.0 - q)) / splat(q);
}
HN_INLINE void add(double* to, f64x4 amount) { store4(to, load4(to) + amount); }

void act(ArmEvidence* arms, i64 n, const double* centers, const double* probabilities, i64 drawn) {
    for (i64 i = 0; i < n; ++i) {
        ArmEvidence& arm = arms[i];
        arm.least = min(probabilities[i], arm.least);
        const double p = probabilities[i], reach = regret_reach(p);
        for (int k = 0; k < vectors; ++k) {
            const f64x4 lambda = lambdas(k);
            add(arm.main[0].C + 4 * k, main_center(centers[i], p, lambda));
            add(arm.main[1].C + 4 * k, main_center(1.0 - centers[i], p, lambda));
            add(arm.regret.C + 4 * k, regret_center(centers[i], p, reach, regret_factor * lambda));
        }
    }
    ArmEvidence& arm = arms[drawn];
    const double p = probabilities[drawn], reach = regret_reach(p);
    for (int k = 0; k < vectors; ++k) {
        const f64x4 lambda = lambdas(k), mu = regret_factor * lambda;
        for (int side = 0; side < 2; ++side) {
            const double center = side ? 1.0 - centers[drawn] : centers[drawn];
            add(arm.main[side].W + 4 * k, log4(main_factor(0.0, main_center(center, p, lambda), p, lambda)));
            const f64x4 fixed = main_center(center, 1.0, lambda);
            add(arm.fixed[side].C + 4 * k, fixed);
            add(arm.fixed[side].W + 4 * k, log4(main_factor(0.0, fixed, 1.0, lambda)));
        }
        add(arm.regret.W + 4 * k, log4(regret_factor_of(0.0, regret_center(centers[drawn], p, reach, mu), p, mu)));
    }
    arm.drawn += 1.0;
}

void settle(ArmEvidence& arm, double own_center, double p, double loss) {
    const double reach = regret_reach(p);
    for (int k = 0; k < vectors; ++k) {
        const f64x4 lambda = lambdas(k), mu = regret_factor * lambda;
        for (int side = 0; side < 2; ++side) {
            const double center = side ? 1.0 - own_center : own_center, x = side ? 1.0 - loss : loss;
            const f64x4 c = main_center(center, p, lambda), fixed = main_center(center, 1.0, lambda);
            add(arm.main[side].W + 4 * k, log4(main_factor(x, c, p, lambda) / main_factor(0.0, c, p, lambda)));
            add(arm.fixed[side].W + 4 * k, log4(main_factor(x, fixed, 1.0, lambda) / main_factor(0.0, fixed, 1.0, lambda)));
        }
        const f64x4 c = regret_center(own_center, p, reach, mu);
        add(arm.regret.W + 4 * k, log4(regret_factor_of(loss, c, p, mu) / regret_factor_of(0.0, c, p, mu)));
    }
    arm.sum += loss;
    arm.settled += 1.0;
}

/// Return log sum_j w_j exp(W_j + lambda_j (C_j - theta)) and its derivative in theta.
struct Capital {
    double log, slope;
};
Capital capital_at(const double* W, const double* C, double factor, double theta) {
    double x[bets], top = -infinity;
    for (int j = 0; j < bets; ++j) {
        x[j] = log_weights[j] + W[j] + factor * (C[j] - theta) / double(1 << j);
        top = max(x[j], top);
    }
    double sum = 0.0, moved = 0.0;
    for (int j = 0; j < bets; ++j) {
        const double share = exp(x[j] - top);
        sum += share;
        moved += share * factor / double(1 << j);
    }
    return {top + log(sum), -moved / sum};
}

double low(const EvidenceRow& row, const EvidenceRow* other, double factor, double top, double threshold) {
    double W[bets], C[bets];
    for (int j = 0; j < bets; ++j) {
        W[j] = row.W[j] + (other ? other->W[j] : 0.0);
        C[j] = row.C[j] + (other ? other->C[j] : 0.0);
    }
    double below = 0.0, above = top;
    if (!(capital_at(W, C, factor, 0.0).log > threshold)) return 0.0;
    if (capital_at(W, C, factor, top).log > threshold) return top;
    for (int step = 0; step < 64; ++step) {
        const double middle = 0.5 * (below + above);
        if (!(below < middle && middle < above)) break;
        (capital_at(W, C, factor, middle).log > threshold ? below : above) = middle;
    }
    return below;
}

/// The sum is convex in m, so that at any m the tangent is a lower bound everywhere; the best one is near the minimum.
double product(const Product& pair, double shift) {
    const auto at = [&](double m) {
        const Capital a = capital_at(pair.above->W, pair.above->C, 1.0, pair.drawn_above * (m + shift));
        const Capital b = capital_at(pair.below->W, pair.below->C, 1.0, pair.drawn_below * (1.0 - m));
        return Capital{a.log + b.log, pair.drawn_above * a.slope - pair.drawn_below * b.slope};
    };
    const auto tangent = [](const Capital& found, double m) {
        return found.log - (found.slope > 0.0 ? found.slope * m : found.slope < 0.0 ? -found.slope * (1.0 - m) : 0.0);
    };
    double below = 0.0, above = 1.0, best = max(tangent(at(0.0), 0.0), tangent(at(1.0), 1.0));
    for (int step = 0; step < 60; ++step) {
        const double middle = 0.5 * (below + above);
        if (!(below < middle && middle < above)) break;
        const Capital found = at(middle);
        best = max(tangent(found, middle), best);
        (found.slope < 0.0 ? below : above) = middle;
    }
    return best;
}

}  // namespace

extern const EvidenceKernels evidence;
const EvidenceKernels evidence = {act, settle, low, product};

}  // namespace hn::HN_ISA
