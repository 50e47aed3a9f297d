#include "../players.hpp"

#include "../players/four_learners.hpp"
#include "../random.hpp"

namespace hn::HN_ISA {
namespace {

bool begin_row(const Setup& s, const RowPlan& plan, Run& run, const double* prior, double* row) {
    static_cast<RunNumbers&>(run) = RunNumbers{};
    for (i64 i = 0; i < s.n; ++i) run.L[i] = prior ? prior[i] : 0.0;
    if (!begin(s, run)) return false;
    RowCounts counts;
    pack_run(s, plan, run, counts, row, false);
    put_counts(plan, row, counts);
    return true;
}

i64 act_rows(const FleetBatch& b, i64 first, i64 last) {
    const Setup s = *b.setup;
    const i64 from = b.plan->compact ? b.plan->n : 0;  // a draw changes no loss
    for (i64 k = first; k < last; ++k) {
        if (k + ahead < b.count) fetch(*b.plan, b.rows[k + ahead]);
        keep(b, k, from);
        if (!draw_one(b, s, *b.run, k)) return undone(b, k, from);
    }
    return -1;
}

i64 settle_rows(const FleetBatch& b, i64 first, i64 last) {
    const Setup s = *b.setup;
    bool* awake = reinterpret_cast<bool*>(b.shares);
    for (i64 k = first; k < last; ++k) {
        if (k + ahead < b.count) fetch(*b.plan, b.rows[k + ahead]);
        keep(b, k, 0);
        if (!settle_one(b, s, *b.run, k, awake)) return undone(b, k, 0);
    }
    return -1;
}

/// Four learners at a time; the rest, and rounds with special cases, one after another.
template <class Four>
i64 act_fours(const FleetBatch& b) {
    Four four(b);
    const i64 from = b.plan->n;
    i64 k = 0, failed = -1;
    for (; k + 4 <= b.count && failed < 0; k += 4) {
        for (i64 j = k + ahead_of_fours; j < min(k + ahead_of_fours + 4, b.count); ++j)
            fetch(*b.plan, b.rows[j]);
        for (i64 j = k; j < k + 4; ++j) keep(b, j, from);
        if (!four.apart(k) || !four.draw(k)) failed = act_rows(b, k, k + 4);
    }
    return failed < 0 ? act_rows(b, k, b.count) : failed;
}
template <class Four>
i64 settle_fours(const FleetBatch& b) {
    Four four(b);
    const double origin = b.setup->origin, slope = b.setup->slope;
    i64 k = 0, failed = -1;
    for (; k + 4 <= b.count && failed < 0; k += 4) {
        for (i64 j = k + ahead_of_fours; j < min(k + ahead_of_fours + 4, b.count); ++j)
            fetch(*b.plan, b.rows[j]);
        for (i64 j = k; j < k + 4; ++j) keep(b, j, 0);
        const auto settled = four.apart(k) ? four.settle(k, origin, slope) : Four::Settled::not_here;
        if (settled == Four::Settled::failed) failed = undone(b, k + 3, 0);
        else if (settled == Four::Settled::not_here) failed = settle_rows(b, k, k + 4);
    }
    return failed < 0 ? settle_rows(b, k, b.count) : failed;
}

/// `by_fours` if four learners of this batch are played side by side, else `one_by_one`.
template <class ByFours, class OneByOne>
i64 played(const FleetBatch& b, ByFours by_fours, OneByOne one_by_one) {
    at_scale(*b.run, b.setup->first_scale());
    if (Fours<2, true>::good(b)) return by_fours.template operator()<Fours<2, true>>();
    if (Fours<2, false>::good(b)) return by_fours.template operator()<Fours<2, false>>();
    if (Fours<1, true>::good(b)) return by_fours.template operator()<Fours<1, true>>();
    if (Fours<1, false>::good(b)) return by_fours.template operator()<Fours<1, false>>();
    return one_by_one();
}

i64 act(const FleetBatch& b) {
    return played(
        b, [&]<class Four>() { return act_fours<Four>(b); }, [&] { return act_rows(b, 0, b.count); });
}
i64 settle(const FleetBatch& b) {
    return played(
        b, [&]<class Four>() { return settle_fours<Four>(b); }, [&] { return settle_rows(b, 0, b.count); });
}

void unpack(const Setup& s, const RowPlan& plan, const double* row, Run& run) {
    at_scale(run, s.first_scale());
    unpack_run(s, plan, row, counts_at(plan, row), run, all_and_sums);
}
void pack(const Setup& s, const RowPlan& plan, const Run& run, double* row) {
    RowCounts counts = counts_at(plan, row);
    pack_run(s, plan, run, counts, row, false);
    put_counts(plan, row, counts);
}

}  // namespace

extern const Fleets fleets;
const Fleets fleets = {begin_row, act, settle, unpack, pack, seed_words};

}  // namespace hn::HN_ISA
