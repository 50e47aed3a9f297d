// Round of a bandit with expert advice: q_j = C_rho(sum_i p_i E_ij), L_i += E_ij weight loss.
//
// Advice is one action E_i per expert (bytes or integers), or one distribution E_ij over actions. Without clipping, and with
// actions, the move is drawn by expert i ~ p and action E_i, which has distribution q and needs only q_j of the drawn action.
// With fewer than few_follow actions, one pass over all experts is faster; otherwise the followers of the action are listed.
#pragma once

#include "estimating.hpp"
#include "followers.hpp"

namespace hn::HN_ISA {

// measured with 1,000 experts: for fewer actions a pass over all experts is faster
inline constexpr i64 few_follow = 6;

/// Advice of one round, E_i as type E, or distributions.
template <class E> struct Advised {
    const E* actions;
    const double* shares;
};

template <class E> HN_INLINE i64x4 who4(const E* e, i64 j) {
    return i64x4(i64x4{i64(e[0]), i64(e[1]), i64(e[2]), i64(e[3])} == splat(j));
}
#if defined(__AVX2__)
HN_INLINE i64x4 who4(const u8* e, i64 j) {
    int four;
    __builtin_memcpy(&four, e, 4);
    return i64x4((i64x4)_mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four)) == splat(j));
}
#endif

/// Total weight of the experts that advise action j.
template <class E>
HN_INLINE double mass_of_all(const Setup& s, const Run& run, const E* e, i64 j) {
    f64x4 a{}, b{};
    i64 i = 0;
    for (; i + 8 <= s.n; i += 8) {
        a += only(who4(e + i, j), load4(run.w + i));
        b += only(who4(e + i + 4, j), load4(run.w + i + 4));
    }
    double mass = fold(a + b);
    for (; i < s.n; ++i) mass += i64(e[i]) == j ? run.w[i] : 0.0;
    return mass;
}

/// L_i += estimate and w_i *= factor where expert i advises j.
template <class E>
HN_INLINE void add_to_all(const Setup& s, Run& run, const E* e, i64 j, double estimate, double factor) {
    const f64x4 more = splat(estimate), times = splat(factor), one = splat(1.0);
    i64 i = 0;
    for (; i + 4 <= s.n; i += 4) {
        const i64x4 hit = who4(e + i, j);
        store4(run.L + i, load4(run.L + i) + only(hit, more));
        store4(run.w + i, load4(run.w + i) * select(hit, times, one));
    }
    for (; i < s.n; ++i)
        if (i64(e[i]) == j) {
            run.L[i] += estimate;
            run.w[i] *= factor;
        }
}

HN_INLINE double* masses_of(const Setup& s, Run& run) { return run.scratch + in_fours(s.n + 64); }

/// Write q_j before normalization; returns their sum.
template <class E>
inline double action_masses(const Setup& s, Run& run, const Advised<E>& heard) {
    double* q = masses_of(s, run);
    for (i64 j = 0; j < in_fours(s.actions); ++j) q[j] = 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        if (heard.shares)
            for (i64 j = 0; j < s.actions; ++j) q[j] += run.w[i] * heard.shares[i * s.actions + j];
        else q[i64(heard.actions[i])] += run.w[i];
    }
    return sum_of(q, s.actions);
}

/// C_rho: set entries below rho to zero, but never the largest. Returns the sum.
inline double clip_masses(double* q, i64 actions, double floor) {
    i64 largest = 0;
    for (i64 j = 1; j < actions; ++j)
        if (q[j] > q[largest]) largest = j;
    for (i64 j = 0; j < actions; ++j)
        if (q[j] < floor && j != largest) q[j] = 0.0;
    return sum_of(q, actions);
}

/// Draw an action, and set run.probability and run.weight. `listed` is the number of listed followers, or -1.
template <class E>
HN_INLINE i64 draw_action(const Setup& s, Run& run, const Advised<E>& heard, i64& listed) {
    const double rho = next_clip(s, run), u = uniform(run.stream);
    i64 j;
    double mass, whole;
    listed = -1;
    if (rho == 0.0 && !heard.shares) {
        j = i64(heard.actions[draw(s, run, u)]);
        if (__builtin_expect(j >= s.actions, 0))
            return j;  // invalid action: only unchecked bytes of a game lead here
        whole = run.total;
        if (s.actions >= few_follow) {
            listed = list_followers(s, run, heard.actions, j);
            mass = mass_of_list(run, listed);
        } else {
            mass = mass_of_all(s, run, heard.actions, j);
        }
    } else {
        whole = action_masses(s, run, heard);
        double* q = masses_of(s, run);
        if (rho > 0.0) whole = clip_masses(q, s.actions, rho * whole);
        j = pick(q, s.actions, u * whole);
        mass = q[j];
    }
    // The two sums have different orders: a single action must have probability 1, not 1 + 1e-16.
    mass = min(mass, whole);
    run.probability = mass / whole;
    run.weight = weight_of(s, run, j, mass, whole);
    ++run.round;
    return j;
}

/// Settle a normalized loss. `listed` is the value set by the draw, else -1. Returns false if the smoothing failed.
template <class E>
HN_INLINE bool settle_action(const Setup& s, Run& run, const Advised<E>& heard, i64 j, i64 listed,
                             double weight, double loss, bool valued) {
    run.own += loss;
    const double estimate = loss * weight;
    if (heard.shares) {
        for (i64 i = 0; i < s.n; ++i) run.L[i] += heard.shares[i * s.actions + j] * estimate;
    } else {
        const bool times = s.path == Path::entropy_times && run.fresh < refresh;
        const double factor = times ? exp(-estimate * run.inverse) : 1.0;
        if (s.actions >= few_follow) {
            if (listed < 0) listed = list_followers(s, run, heard.actions, j);
            add_to_list(run, listed, estimate, factor);
        } else {
            add_to_all(s, run, heard.actions, j, estimate, factor);
        }
        if (times) {
            run.fresh += 1.0;
            sum_up(s, run);
            if (!in_range(run.total, s.n)) entropy_anew(s, run);
            if (valued) run.value = entropy_value(run);
            return true;
        }
    }
    return weigh_apart(s, run, next_scale(s, run), valued);
}

}  // namespace hn::HN_ISA
