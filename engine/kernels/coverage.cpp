#include "../coverage.hpp"

#include "../exp.hpp"

namespace hn::HN_ISA {
namespace {

/// First position of the sorted numbers that is not below v.
HN_INLINE i64 position(const double* sorted, i64 count, double v) {
    i64 low = 0;
    while (count > 0) {
        const i64 half = count / 2;
        const bool right = sorted[low + half] < v;
        low = right ? low + half + 1 : low;
        count = right ? count - half - 1 : half;
    }
    return low;
}

/// Add a number; the oldest number of a full window is removed. Only the numbers between the two places move.
HN_INLINE void add_number(SortedWindow& w, double v) {
    double* sorted = w.sorted;
    if (w.count < w.most) {
        const i64 at = position(sorted, w.count, v);
        __builtin_memmove(sorted + at + 1, sorted + at, std::size_t(w.count - at) * sizeof(double));
        sorted[at] = v;
        ++w.count;
    } else {
        const i64 from = position(sorted, w.count, w.line[w.next]), to = position(sorted, w.count, v);
        if (to > from) {
            __builtin_memmove(sorted + from, sorted + from + 1, std::size_t(to - 1 - from) * sizeof(double));
            sorted[to - 1] = v;
        } else {
            __builtin_memmove(sorted + to + 1, sorted + to, std::size_t(from - to) * sizeof(double));
            sorted[to] = v;
        }
    }
    w.line[w.next] = v;
    w.next = w.next + 1 == w.most ? 0 : w.next + 1;
}

/// The order statistic of a rank, which is rounded outwards: down for a lower end, up for an upper one.
HN_INLINE double ranked(const SortedWindow& w, double level, bool up) {
    const double at = level * double(w.count + 1);
    i64 rank = i64(up ? at - 1e-9 : at + 1e-9);  // at >= 0
    if (up && double(rank) < at - 1e-9) ++rank;
    rank = rank < 1 ? 1 : rank > w.count ? w.count : rank;
    return w.sorted[rank - 1];
}

HN_INLINE double ratio_of(double x, double scale) { return max(-largest_ratio, min(largest_ratio, x / scale)); }

/// Members 0..3 use residuals, 4..6 residuals over a scale, 7 over the spread; 8..10, 11..12 and 13 are symmetric.
HN_INLINE bool symmetric(i64 i) { return i >= 8; }
HN_INLINE bool unscaled(i64 i) { return i < 4 || (i >= 8 && i < 11); }
HN_INLINE double scale_of(const ResidualRow& row, i64 i) {
    if (unscaled(i)) return 1.0;
    if (i == 7 || i == 13) return row.spread;
    return i < 7 ? row.scale[i - 4] : row.scale[i - 11];
}

bool propose_intervals(Residuals& r, double center, const double* forecasts, i64 n, ResidualRow& row,
                       double* proposals) {
    double mean = 0.0, awake = 0.0, squares = 0.0, least = infinity, most = -infinity;
    for (i64 i = 0; i < n; ++i) {
        if (forecasts[i] != forecasts[i]) continue;
        mean += forecasts[i];
        awake += 1.0;
        least = min(forecasts[i], least);
        most = max(forecasts[i], most);
    }
    mean /= awake;
    for (i64 i = 0; i < n; ++i)
        if (forecasts[i] == forecasts[i]) squares += (forecasts[i] - mean) * (forecasts[i] - mean);
    const double spread = sqrt(squares / awake);
    r.answered += 1.0;
    r.mean_spread += (spread - r.mean_spread) / r.answered;
    row.center = center;
    row.spread = max(spread, scale_floor * r.mean_spread);
    for (i64 k = 0; k < scales; ++k)
        row.scale[k] = r.settled > 0.0 ? max(r.recent[k] / r.weight[k], scale_floor * r.total / r.settled) : 0.0;
    row.unit = r.settled > 0.0 ? max(row.scale[unit_scale], smallest_unit) : 0.0;
    if (r.ends == 0) {
        if (row.unit == 0.0 && most > least) row.unit = (most - least) / 3.3;
        return row.unit > 0.0;
    }
    if (r.window[0].count < fewest) {
        row.unit = 0.0;
        return false;
    }
    for (i64 q = 0; q < r.ends; ++q) {
        const double level = r.level[q];
        const bool up = level >= 0.5;
        for (i64 i = 0; i < proposers; ++i) {
            const SortedWindow& w = r.window[i];
            const double scale = scale_of(row, i);
            double& to = proposals[q * proposers + i];
            if (w.count < fewest || !(scale > 0.0)) to = __builtin_nan("");
            else if (symmetric(i)) {
                const double reach = scale * ranked(w, up ? 2.0 * level - 1.0 : 1.0 - 2.0 * level, true);
                to = up ? center + reach : center - reach;
            } else to = center + scale * ranked(w, level, up);
        }
    }
    return true;
}

void learn_residual(Residuals& r, const ResidualRow& row, double target) {
    const double e = target - row.center, size = abs(e);
    for (i64 i = 0; i < proposers && r.ends > 0; ++i) {
        const double scale = scale_of(row, i);
        if (!(scale > 0.0)) continue;
        const double x = symmetric(i) ? size : e;
        add_number(r.window[i], unscaled(i) ? x : ratio_of(x, scale));
    }
    r.settled += 1.0;
    r.total += size;
    for (i64 k = 0; k < scales; ++k) {
        r.recent[k] = scale_decays[k] * r.recent[k] + (1.0 - scale_decays[k]) * size;
        r.weight[k] = scale_decays[k] * r.weight[k] + (1.0 - scale_decays[k]);
    }
}

/// sinh and cosh; infinite where they are not needed exactly.
HN_INLINE double sinh_of(double x) {
    if (abs(x) > 700.0) return x > 0.0 ? infinity : -infinity;
    const double t = expm1(abs(x)), value = 0.5 * (t + t / (t + 1.0));
    return x < 0.0 ? -value : value;
}
HN_INLINE double cosh_of(double x) {
    if (abs(x) > 700.0) return infinity;
    const double t = exp(abs(x));
    return 0.5 * (t + 1.0 / t);
}

HN_INLINE double theta_of(const Tracker& t, i64 group, i64 end) {
    const double* counts = t.counts + group * t.stride();
    const double excess = counts[1 + end] - t.rate[end / t.sides()] * counts[0];
    return group == 0 ? t.start + t.step * excess : t.group_step * excess;
}

void issue_ends(const Tracker& t, const double* base, double unit, const i64* groups, i64 count, double* row) {
    const i64 ends = t.ends(), sides = t.sides();
    double *issued = row + 1, *bases = row + 1 + ends, *shifts = row + 1 + 2 * ends;
    row[0] = unit;
    for (i64 end = 0; end < ends; ++end) {
        double theta = theta_of(t, 0, end);
        for (i64 k = 0; k < count; ++k) theta += theta_of(t, groups[k], end);
        const bool up = t.is_upper(end);
        const double shift = sinh_of(max(-largest_shift, min(largest_shift, theta)));
        const double made = up ? base[end] + unit * shift : base[end] - unit * shift;
        issued[end] = made;
        // A wider interval contains the narrower ones, for all states.
        if (end >= sides) issued[end] = up ? max(made, issued[end - sides]) : min(made, issued[end - sides]);
        bases[end] = base[end];
        shifts[end] = issued[end] == made ? shift : (up ? issued[end] - base[end] : base[end] - issued[end]) / unit;
    }
}

HN_INLINE double pinball_of(double over, double rate) { return over > 0.0 ? (1.0 - rate) * over : -rate * over; }

void settle_ends(Tracker& t, const double* row, const i64* groups, i64 count, double target) {
    const i64 ends = t.ends(), sides = t.sides(), stride = t.stride();
    const double unit = row[0], *issued = row + 1, *bases = row + 1 + ends, *shifts = row + 1 + 2 * ends;
    for (i64 end = 0; end < ends; ++end) {
        const bool up = t.is_upper(end);
        const double rate = t.rate[end / sides], theta = theta_of(t, 0, end);
        const double over = up ? target - issued[end] : issued[end] - target;
        const double base_over = up ? target - bases[end] : bases[end] - target;
        const double miss = over > 0.0 ? 1.0 : 0.0, d = miss - rate;
        double* sums = t.sums + Tracker::sum_columns * end;
        sums[Tracker::cost] += (pinball_of(over, rate) - pinball_of(base_over, rate)) / unit;
        sums[Tracker::bound] +=
            0.5 * t.step * d * d * cosh_of(abs(theta) + t.step) + d * (sinh_of(theta) - shifts[end]);
        sums[Tracker::beyond] = max(abs(base_over) / unit, sums[Tracker::beyond]);
    }
    for (i64 k = -1; k < count; ++k) {
        double* counts = t.counts + (k < 0 ? 0 : groups[k]) * stride;
        counts[0] += 1.0;
        for (i64 end = 0; end < ends; ++end) {
            const double over = t.is_upper(end) ? target - issued[end] : issued[end] - target;
            if (over > 0.0) counts[1 + end] += 1.0;
        }
        for (i64 c = 0; c < t.coverages && sides == 2; ++c)
            if (target < issued[2 * c] && target > issued[2 * c + 1]) counts[1 + ends + c] += 1.0;
    }
}

}  // namespace

extern const CoverageKernels coverage;
const CoverageKernels coverage = {propose_intervals, learn_residual, issue_ends, settle_ends};

}  // namespace hn::HN_ISA
