#include "../slates.hpp"

#include "../log.hpp"
#include "../random.hpp"

namespace hn::HN_ISA {
namespace {

/// Sums of (g_i + mu)^-2 and (g_i + mu)^-3 over all items, g_i = max(0, L_i - zero)/s.
struct PowerSums {
    double second, third;
};
PowerSums power_sums(const double* L, i64 n, double zero, double inverse, double mu) {
    f64x4 second{}, third{};
    i64 i = 0;
    for (; i + 4 <= n; i += 4) {
        const f64x4 y = 1.0 / (max(load4(L + i) - zero, f64x4{}) * inverse + mu), square = y * y;
        second += square;
        third += square * y;
    }
    PowerSums found{fold(second), fold(third)};
    for (; i < n; ++i) {
        const double y = 1.0 / (max(L[i] - zero, 0.0) * inverse + mu), square = y * y;
        found.second += square;
        found.third += square * y;
    }
    return found;
}

/// Sort items by loss, then by number. The order of the last round is nearly the order of this one.
void sort_again(const double* L, i32* order, i64 n) {
    for (i64 k = 1; k < n; ++k) {
        const i32 item = order[k];
        const double value = L[item];
        i64 j = k;
        const auto after = [&](i32 other) { return L[other] > value || (L[other] == value && other > item); };
        for (; j > 0 && after(order[j - 1]); --j) order[j] = order[j - 1];
        order[j] = item;
    }
}

/// Round to multiples of 2^-52 between 2^-52 and 1 whose sum is m: the remainder goes to the largest below 1. Items of
/// probability 0 are unavailable and keep it.
void round_exactly(const double* x, u64* exact, i64 n, i64 m) {
    i64 left = i64(u64(m) << 52);
    for (i64 i = 0; i < n; ++i) {
        if (x[i] == 0.0) {
            exact[i] = 0;
            continue;
        }
        const u64 rounded = u64(x[i] * 0x1p52 + 0.5);
        exact[i] = rounded < 1 ? 1 : rounded > slate_whole ? slate_whole : rounded;
        left -= i64(exact[i]);
    }
    while (left != 0) {
        i64 best = -1;
        for (i64 i = 0; i < n; ++i) {
            const bool movable = left > 0 ? exact[i] > 0 : exact[i] > 1;
            if (movable && exact[i] < slate_whole && (best < 0 || exact[i] > exact[best])) best = i;
        }
        // Every remaining item has probability 1: subtract from one of them.
        for (i64 i = 0; best < 0 && i < n; ++i)
            if (exact[i] > 1) best = i;
        const i64 wanted = i64(exact[best]) + left;
        const i64 found = wanted < 1 ? 1 : wanted > i64(slate_whole) ? i64(slate_whole) : wanted;
        left -= found - i64(exact[best]);
        exact[best] = u64(found);
    }
}

/// Round x to multiples of 2^-52 that sum to m.
void settle_on(const SlateSetup& s, SlateRun& run) {
    round_exactly(run.x, run.exact, s.n, s.m);
    for (i64 i = 0; i < s.n; ++i) run.x[i] = double(run.exact[i]) * 0x1p-52;
}

void weigh_tsallis(const SlateSetup& s, SlateRun& run, double scale) {
    const i64 n = s.n, m = s.m;
    const double inverse = 1.0 / scale;
    // Clamped items have g = 0 in the sums, so that their contribution can be subtracted exactly.
    const auto enough = [&](i64 c) {
        const double zero = run.L[run.order[c]];
        return power_sums(run.L, n, zero, inverse, 1.0).second - double(c) > double(m - c);
    };
    i64 c = min(run.clamped, m - 1);
    if (enough(c))
        while (c > 0 && enough(c - 1)) --c;
    else
        while (c < m - 1 && !enough(++c)) {}
    run.clamped = c;
    const double zero = run.L[run.order[c]], free = double(m - c), target = 1.0 / sqrt(free);
    double mu = 1.0;
    for (int step = 0; step < 60; ++step) {
        const PowerSums all = power_sums(run.L, n, zero, inverse, mu);
        const double y = 1.0 / mu, second = all.second - double(c) * (y * y);
        const double third = all.third - double(c) * (y * y * y), root = sqrt(second);
        const double move = (target - 1.0 / root) * (second * root) / third;
        if (!(move > 1e-15 * mu)) break;
        mu += move;
    }
    for (i64 i = 0; i < n; ++i) {
        const double y = 1.0 / (max(run.L[i] - zero, 0.0) * inverse + mu);
        run.x[i] = min(y * y, 1.0);
    }
    for (i64 k = 0; k < c; ++k) run.x[run.order[k]] = 1.0;
    settle_on(s, run);
}

/// Capped entropy of the shown items, or of the omitted items, which are the shown items for the losses -L.
void weigh_entropy(const SlateSetup& s, SlateRun& run, double scale, bool left_out) {
    const i64 n = s.n, count = left_out ? n - s.m : s.m;
    const double inverse = (left_out ? -1.0 : 1.0) / scale;
    const auto at = [&](i64 k) { return run.order[left_out ? n - 1 - k : k]; };
    /// Fill e^(-(v_i - v_c)/s) of all items, v = L or -L; 1 for items before c.
    const auto powers = [&](i64 c) {
        const double zero = run.L[at(c)];
        i64 i = 0;
        for (; i + 4 <= n; i += 4) store4(run.x + i, exp(min((zero - load4(run.L + i)) * inverse, f64x4{})));
        for (; i < n; ++i) run.x[i] = exp(min((zero - run.L[i]) * inverse, 0.0));
    };
    i64 c = count - 1;
    powers(c);
    double sum = 0.0;  // sums of e^(-(v_j - v_c)/s) over the items from c on
    for (i64 k = n - 1; k >= c; --k) sum += run.x[at(k)];
    // Without clamping item c - 1, no probability may exceed 1. If one does, it does so for every smaller c as well.
    while (c > 0) {
        const double next = 1.0 + exp((run.L[at(c - 1)] - run.L[at(c)]) * inverse) * sum;
        if (next < double(count - c + 1)) break;
        sum = next, --c;
    }
    if (c < count - 1) powers(c);
    const double share = double(count - c) / sum;
    for (i64 i = 0; i < n; ++i) run.x[i] = min(run.x[i] * share, 1.0);
    for (i64 k = 0; k < c; ++k) run.x[at(k)] = 1.0;
    // Items of probability 0 would count as unavailable.
    for (i64 i = 0; i < n; ++i) run.x[i] = max(left_out ? 1.0 - run.x[i] : run.x[i], 0x1p-52);
    settle_on(s, run);
}

// Conditional draw: independent items with probabilities p_i = w_i/(1 + w_i), given that `wanted` of them are taken. Every
// sum below has positive terms only. Row i of the table has, at place k, the probability that wanted - k of the items
// i, i + 1, ... are taken; the last place is 0.

/// Multiply the weights w, which are in p, by one factor so that about `wanted` independent items are taken, and set p and
/// 1 - p. The factor does not change the draw, but keeps the tables far from underflow.
void normalize(SlateRun& run) {
    const i64 f = run.free_items;
    double factor = 1.0;
    for (int step = 0; step < 200; ++step) {
        double sum = 0.0, slope = 0.0;
        for (i64 i = 0; i < f; ++i) {
            const double w = run.p[i] * factor, share = 1.0 / (1.0 + w), taken = w * share;
            sum += taken;
            slope += taken * share;
        }
        const double off = double(run.wanted) - sum;
        if (!(abs(off) > 0.25)) break;
        // Newton's step for the logarithm, at most e^2.
        factor *= exp(max(min(off / max(slope, 1e-300), 2.0), -2.0));
    }
    for (i64 i = 0; i < f; ++i) {
        const double w = run.p[i] * factor;
        run.rest[i] = 1.0 / (1.0 + w);
        run.p[i] = w > 1.0 ? 1.0 / (1.0 + 1.0 / w) : w * run.rest[i];
        if (w > 1.0) run.rest[i] = (1.0 / w) * run.p[i];
    }
}
void count_from_the_end(SlateRun& run) {
    const i64 m = run.wanted, row = slate_row(m);
    double* below = run.counts + run.free_items * row;
    for (i64 k = 0; k < row; ++k) below[k] = k == m ? 1.0 : 0.0;
    for (i64 i = run.free_items - 1; i >= 0; --i) {
        double* here = below - row;
        const double p = run.p[i], rest = run.rest[i];
        for (i64 k = 0; k + 4 < row; k += 4) store4(here + k, load4(below + k) * rest + load4(below + k + 1) * p);
        store4(here + row - 4, f64x4{});
        below = here;
    }
}
/// One pass over the items: sets x, and calls `next(i, fewer, same)`, which may change p and 1 - p of item i. The last two
/// are the probabilities that wanted - 1, and that wanted, of the other items are taken.
template <class Next> void pass(SlateRun& run, Next&& next) {
    const i64 m = run.wanted, row = slate_row(m);
    count_from_the_end(run);
    // Place 0 is behind four zeros.
    double* before = run.counts + (run.free_items + 1) * row + 4;
    for (i64 k = -4; k + 4 < row; ++k) before[k] = k == 0 ? 1.0 : 0.0;
    for (i64 i = 0; i < run.free_items; ++i) {
        const double* after = run.counts + (i + 1) * row;
        f64x4 shifted{}, straight{};
        for (i64 k = 0; k + 4 < row; k += 4) {
            const f64x4 first = load4(before + k);
            straight += first * load4(after + k);
            shifted += first * load4(after + k + 1);
        }
        const double fewer = fold(shifted), same = fold(straight), taken = run.p[i] * fewer;
        run.x[run.free[i]] = taken / (taken + run.rest[i] * same);
        next(i, fewer, same);
        const double p = run.p[i], rest = run.rest[i];
        for (i64 k = row - 8; k >= 0; k -= 4) store4(before + k, load4(before + k) * rest + load4(before + k - 1) * p);
    }
}

/// Items of probability below 1; all other items are always taken.
void gather(const SlateSetup& s, SlateRun& run, i64 count) {
    run.free_items = 0;
    run.wanted = count;
    for (i64 i = 0; i < s.n; ++i) {
        if (run.exact[i] == slate_whole)
            --run.wanted;
        else if (run.exact[i] > 0)
            run.free[run.free_items++] = i32(i);
    }
    if (run.wanted <= 0) run.free_items = run.wanted = 0;
}

/// Each weight is solved exactly for given other weights: all of them at the same time, which converges in a few passes if
/// many items have a chance, and one after the other (coordinate ascent of a concave function) if it does not.
void condition(const SlateSetup& s, SlateRun& run, i64 count, bool kept) {
    gather(s, run, count);
    const i64 f = run.free_items;
    if (f == 0) return;
    const auto odds = [&](i64 i) {
        const u64 exact = run.exact[run.free[i]];
        return double(exact) / double(slate_whole - exact);
    };
    for (i64 i = 0; i < f; ++i) run.p[i] = odds(i) * run.ratio[run.free[i]];
    normalize(run);
    const double enough = 1e-12 + 0x1p-50 * double(f);
    double *const fresh = run.counts + (f + 3) * slate_row(run.wanted), worst = infinity;
    bool in_turn = false;
    for (int step = 0;; ++step) {
        const double last = worst;
        const bool measured = !in_turn;
        worst = 0.0;
        pass(run, [&](i64 i, double fewer, double same) {
            const double wanted = double(run.exact[run.free[i]]) * 0x1p-52;
            worst = max(abs(run.x[run.free[i]] / wanted - 1.0), worst);
            const double w = odds(i) * (same / fewer);
            if (!in_turn) {
                fresh[i] = w;
            } else {
                run.rest[i] = 1.0 / (1.0 + w);
                run.p[i] = w * run.rest[i];
            }
        });
        if (measured && (!(worst > enough) || step >= 300)) break;
        if (measured) {
            in_turn = worst > 0.3 * last;
            for (i64 i = 0; i < f; ++i) run.p[i] = fresh[i];
            normalize(run);
        } else if (!(worst > enough) || step >= 299) {
            in_turn = false;  // measure again without a change
            worst = infinity;
        }
    }
    if (!(worst <= run.deviation)) run.deviation = worst;
    for (i64 i = 0; kept && i < f; ++i) {
        const double found = run.p[i] / (run.rest[i] * odds(i));
        run.ratio[run.free[i]] = found > 1e-100 && found < 1e100 ? found : 1.0;
    }
}

/// Hedge over all slates: weights e^(-L_i/s), shifted so that the m-th smallest loss has weight 1.
void weigh_hedge(const SlateSetup& s, SlateRun& run, double scale) {
    const double zero = run.L[run.order[s.m - 1]], inverse = 1.0 / scale;
    run.free_items = s.n;
    run.wanted = s.m;
    for (i64 i = 0; i < s.n; ++i) {
        run.free[i] = i32(i);
        run.exact[i] = 1;
        run.p[i] = exp(min((zero - run.L[i]) * inverse, 690.0));
    }
    normalize(run);
    pass(run, [](i64, double, double) {});
}

// Leaders under exponential noise: item i is shown if fewer than m others have Z_j - d_j > Z_i - d_i, d = (L - min L)/s. With
// v = e^-w, w the threshold, an item is above it with probability min(1, v e^-d), so that the integrand is a polynomial
// between consecutive cuts e^d_(1), e^d_(2), ...: up to cut k, the k items with smaller d are above it for sure.

/// Nodes > 0 and weights of Gauss and Legendre, 24 nodes.
constexpr double node[12] = {0.06405689286260563, 0.1911188674736163, 0.3150426796961634, 0.4337935076260451,
                             0.5454214713888396,  0.6480936519369755, 0.7401241915785544, 0.820001985973903,
                             0.8864155270044011,  0.9382745520027328, 0.9747285559713095, 0.9951872199970213};
constexpr double weight[12] = {0.12793819534675216, 0.1258374563468283,  0.12167047292780339, 0.1155056680537256,
                               0.10744427011596563, 0.09761865210411388, 0.08619016153195327, 0.0733464814110803,
                               0.05929858491543678, 0.04427743881741981, 0.028531388628933663, 0.0123412297999872};

/// Call `at(t, weight)` with four nodes at a time between a and b, in parts in which e^(-rate t) falls by at most e^24.
template <class At> void integrate(double a, double b, double rate, At&& at) {
    const i64 parts = i64(max((b - a) * rate / 24.0, 0.0)) + 1;
    const double half = 0.5 * (b - a) / double(parts);
    for (i64 part = 0; part < parts; ++part) {
        const double middle = a + half * double(2 * part + 1);
        for (int g = 0; g < 12; g += 2) {
            const f64x4 y{node[g], node[g + 1], -node[g], -node[g + 1]};
            at(middle + half * y, half * f64x4{weight[g], weight[g + 1], weight[g], weight[g + 1]});
        }
    }
}
/// e^(d_k - d_j) for the items from the k-th smallest on, in the order of L; returns their sum.
double relative_to(const SlateSetup& s, const SlateRun& run, double inverse, i64 k, double* out) {
    double sum = 0.0;
    for (i64 j = k; j < s.n; ++j) {
        out[j] = exp((run.L[run.order[k]] - run.L[run.order[j]]) * inverse);
        sum += out[j];
    }
    return sum;
}
/// Largest v that matters: above it, more than m items are above the threshold, up to a probability of e^-60.
HN_INLINE double last_value(i64 m, double rate) { return (60.0 + 3.0 * double(m)) / rate; }

void weigh_leaders(const SlateSetup& s, SlateRun& run, double scale) {
    const i64 n = s.n, m = s.m;
    const double inverse = 1.0 / scale;
    // At most r of the items from j on are above: four nodes at a time. Then exactly r of the items before j.
    double *const above = run.counts, *const before = above + 4 * (n + 1) * m, *const e = before + 4 * m;
    for (i64 i = 0; i < n; ++i) run.x[i] = 0.0;
    for (i64 k = 0; k < m; ++k) {
        const double rate = relative_to(s, run, inverse, k, e);
        const double a = k == 0 ? 0.0 : exp((run.L[run.order[k - 1]] - run.L[run.order[k]]) * inverse);
        const double b = min(last_value(m, rate), 1.0);
        const i64 most = m - k;
        if (!(a < b)) continue;
        integrate(a, b, rate, [&](f64x4 t, f64x4 part) {
            for (i64 r = 0; r < most; ++r) store4(above + 4 * (n * m + r), f64x4{} + 1.0);
            for (i64 j = n - 1; j > k; --j) {
                const f64x4 p = t * e[j], rest = 1.0 - p;
                const double* below = above + 4 * (j + 1) * m;
                double* here = above + 4 * j * m;
                store4(here, load4(below) * rest);
                for (i64 r = 1; r < most; ++r)
                    store4(here + 4 * r, load4(below + 4 * r) * rest + load4(below + 4 * r - 4) * p);
            }
            for (i64 r = 0; r < most; ++r) store4(before + 4 * r, r == 0 ? f64x4{} + 1.0 : f64x4{});
            for (i64 j = k; j < n; ++j) {
                const double* after = above + 4 * (j + 1) * m;
                f64x4 few{};
                for (i64 r = 0; r < most; ++r) few += load4(before + 4 * r) * load4(after + 4 * (most - 1 - r));
                run.x[run.order[j]] += e[j] * fold(part * few);
                const f64x4 p = t * e[j], rest = 1.0 - p;
                for (i64 r = most - 1; r > 0; --r)
                    store4(before + 4 * r, load4(before + 4 * r) * rest + load4(before + 4 * r - 4) * p);
                store4(before, load4(before) * rest);
            }
        });
    }
    for (i64 i = 0; i < n; ++i) run.x[i] = max(min(run.x[i], 1.0), 0x1p-1000);
}

double chance_of_leaders(const SlateSetup& s, SlateRun& run, const i64* items) {
    const i64 n = s.n, m = s.m;
    if (m == n) return 1.0;
    const double inverse = 1.0 / run.scale;
    double *const e = run.counts, *const shown = e + n;
    for (i64 i = 0; i < n; ++i) shown[i] = 0.0;
    for (i64 k = 0; k < m; ++k) shown[items[k]] = 1.0;
    double chance = 0.0;
    for (i64 k = 0; k <= m; ++k) {
        relative_to(s, run, inverse, k, e);
        const double a = k == 0 ? 0.0 : exp((run.L[run.order[k - 1]] - run.L[run.order[k]]) * inverse);
        double rate = 0.0, left = 1.0, taken = 0.0;
        for (i64 j = k; j < n; ++j)
            if (shown[run.order[j]] == 0.0) {
                rate += e[j];
                left *= 1.0 - a * e[j];
            } else {
                taken += 1.0;
            }
        if (k == m) {  // all items of the slate are above for sure: the integral is that of a derivative
            chance += left;
            break;
        }
        const double b = min(last_value(m, rate), 1.0);
        // The product over the shown items grows like t^taken.
        if (a < b)
            integrate(a, b, rate + taken / b, [&](f64x4 t, f64x4 part) {
                // The sum over items j that are not shown of e_j times the product for the others, without a division,
                // because p may round to 1 if two losses are almost equal.
                f64x4 product = f64x4{} + 1.0, density{};
                for (i64 j = k; j < n; ++j) {
                    const f64x4 p = t * e[j];
                    if (shown[run.order[j]] != 0.0) {
                        product *= p;
                        density *= p;
                    } else {
                        density = density * (1.0 - p) + product * e[j];
                        product *= 1.0 - p;
                    }
                }
                chance += fold(part * density);
            });
        if (shown[run.order[k]] == 0.0) break;  // from here on, this item is above for sure
    }
    return min(chance, 1.0);
}

/// The scores of the items are in the scratch memory.
void lead(const SlateSetup& s, SlateRun& run, double scale, i64* items) {
    double* const score = run.counts;
    i64 found = 0;
    for (i64 i = 0; i < s.n; ++i) {
        // Multiples of 2^-64 keep the tail of the noise accurate.
        const double u = double(next_word(run.stream)) * 0x1p-64 + 0x1p-65;
        score[i] = run.L[i] + scale * log(u);
        if (found == s.m && score[i] >= score[items[found - 1]]) continue;
        i64 k = found < s.m ? found++ : found - 1;
        for (; k > 0 && score[items[k - 1]] > score[i]; --k) items[k] = items[k - 1];
        items[k] = i;
    }
}

void weigh(const SlateSetup& s, SlateRun& run, double scale) {
    run.scale = scale;
    if (s.m == s.n) {
        run.free_items = run.wanted = 0;
        for (i64 i = 0; i < s.n; ++i) {
            run.x[i] = 1.0;
            run.exact[i] = slate_whole;
        }
        return;
    }
    sort_again(run.L, run.order, s.n);
    switch (s.play) {
        case SlatePlay::tsallis: return weigh_tsallis(s, run, scale);
        case SlatePlay::entropy: return weigh_entropy(s, run, scale, false);
        case SlatePlay::left_out: return weigh_entropy(s, run, scale, true);
        case SlatePlay::hedge: return weigh_hedge(s, run, scale);
        case SlatePlay::leaders: return weigh_leaders(s, run, scale);
    }
}

i64 restrict_to(const SlateSetup& s, SlateRun& run, const bool* available) {
    i64 found = 0;
    double sum = 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        found += available[i];
        sum += available[i] ? run.x[i] : 0.0;
    }
    const i64 count = min(s.m, found);
    double alpha = 0.0, clamped = 0.0;
    // Clamp at 1 until no further item exceeds 1: alpha increases, so that clamped items stay clamped.
    while (count < found) {
        const double next = max((double(count) - clamped) / sum, 1.0);
        if (!(next > alpha)) break;
        alpha = next, clamped = 0.0, sum = 0.0;
        for (i64 i = 0; i < s.n; ++i) {
            if (!available[i]) continue;
            if (run.x[i] * alpha >= 1.0)
                clamped += 1.0;
            else
                sum += run.x[i];
        }
    }
    for (i64 i = 0; i < s.n; ++i)
        run.x[i] = !available[i] ? 0.0 : count == found ? 1.0 : min(run.x[i] * alpha, 1.0);
    round_exactly(run.x, run.exact, s.n, count);
    for (i64 i = 0; i < s.n; ++i) run.x[i] = double(run.exact[i]) * 0x1p-52;
    return count;
}

/// A uniform integer below `count`, without bias (Lemire 2019).
HN_INLINE u64 below(Words& s, u64 count) {
    for (;;) {
        const unsigned __int128 wide = (unsigned __int128)next_word(s) * count;
        const u64 low = u64(wide);
        if (low >= count || low >= (0 - count) % count) return u64(wide >> 64);
    }
}
template <class Item> HN_INLINE void shuffle(Words& s, Item* items, i64 count) {
    for (i64 k = count - 1; k > 0; --k) {
        const i64 j = i64(below(s, u64(k + 1)));
        const Item item = items[k];
        items[k] = items[j];
        items[j] = item;
    }
}

/// Systematic sampling of items in random order: u, u + 2^52, ... fall into m different items.
void draw(const SlateSetup& s, SlateRun& run, i64 count, i64* items) {
    for (i64 i = 0; i < s.n; ++i) run.shuffled[i] = i32(i);
    shuffle(run.stream, run.shuffled, s.n);
    u64 next = next_word(run.stream) >> 12, end = 0;
    i64 found = 0;
    for (i64 k = 0; k < s.n && found < count; ++k) {
        end += run.exact[run.shuffled[k]];
        if (next < end) {
            items[found++] = run.shuffled[k];
            next += slate_whole;
        }
    }
    shuffle(run.stream, items, count);
}

double draw_conditionally(const SlateSetup& s, SlateRun& run, i64 count, i64* items) {
    i64 found = 0, left = run.wanted;
    for (i64 i = 0; i < s.n; ++i)
        if (run.exact[i] == slate_whole) items[found++] = i;
    const i64 row = slate_row(run.wanted);
    double chance = 1.0;
    for (i64 i = 0; i < run.free_items && left > 0; ++i) {
        // `left` of the items from i on must be taken: place wanted - left.
        const double *here = run.counts + i * row + (run.wanted - left), *next = here + row;
        const double taken = run.p[i] * next[1], skipped = run.rest[i] * next[0], sum = taken + skipped;
        // The multiples of 2^-64 keep small probabilities accurate.
        if (double(next_word(run.stream)) * 0x1p-64 * sum < taken) {
            items[found++] = run.free[i];
            chance *= taken / sum;
            --left;
        } else {
            chance *= skipped / sum;
        }
    }
    shuffle(run.stream, items, count);
    return chance;
}

void shuffle_slate(SlateRun& run, i64 count, i64* items) { shuffle(run.stream, items, count); }

void baselines(const SlateSetup& s, const SlateRun& run, double* out) {
    const double square = run.scale * run.scale;
    for (i64 i = 0; i < s.n; ++i) out[i] = square > 4.0 && run.x[i] * square >= 4.0 ? 0.5 : 0.0;
}

void settle(const SlateSetup& s, SlateRun& run, i64 count, const i64* items, const double* probabilities,
            const double* losses, const double* kept) {
    if (kept)
        for (i64 i = 0; i < s.n; ++i) run.L[i] += kept[i];
    for (i64 k = 0; k < count; ++k) {
        const i64 item = items[k];
        const double base = kept ? kept[item] : 0.0;
        run.L[item] += (losses[k] - base) / (probabilities[k] + s.gamma);
    }
}

}  // namespace

extern const SlateKernels slates;
const SlateKernels slates = {weigh, restrict_to, condition, draw_conditionally, lead, chance_of_leaders, shuffle_slate, draw, settle, baselines};

}  // namespace hn::HN_ISA
