#include "../slates.hpp"

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

void weigh(const SlateSetup& s, SlateRun& run, double scale) {
    const i64 n = s.n, m = s.m;
    run.scale = scale;
    if (m == n) {
        for (i64 i = 0; i < n; ++i) {
            run.x[i] = 1.0;
            run.exact[i] = slate_whole;
        }
        return;
    }
    sort_again(run.L, run.order, n);
    const double inverse = 1.0 / scale;
    // Clamped items have g = 0 in the sums, so that they are taken out again exactly.
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
    round_exactly(run.x, run.exact, n, m);
    for (i64 i = 0; i < n; ++i) run.x[i] = double(run.exact[i]) * 0x1p-52;
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
const SlateKernels slates = {weigh, restrict_to, draw, settle, baselines};

}  // namespace hn::HN_ISA
