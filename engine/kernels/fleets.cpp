#include "../fleets.hpp"

#include "../players/fleet.hpp"
#include "../players/seeding.hpp"

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

template <int P>
i64 act_rows(const FleetBatch& b) {
    Setup s = *b.setup;
    Run& run = *b.run;
    at_scale(run, s.first_scale());
    const i64 from = b.plan->compact ? b.plan->n : 0;  // a draw changes no loss
    for (i64 k = 0; k < b.count; ++k) {
        if (k + ahead < b.count) fetch(*b.plan, b.rows[k + ahead]);
        if constexpr (P >= 0) s.path = Path(P);  // known here, so that the other paths drop out
        keep(b, k, from);
        if (!draw_one(b, s, run, k)) return undone(b, k, from);
    }
    return -1;
}

template <int P>
i64 settle_rows(const FleetBatch& b) {
    Setup s = *b.setup;
    Run& run = *b.run;
    at_scale(run, s.first_scale());
    bool* awake = reinterpret_cast<bool*>(b.shares);
    for (i64 k = 0; k < b.count; ++k) {
        if (k + ahead < b.count) fetch(*b.plan, b.rows[k + ahead]);
        if constexpr (P >= 0) s.path = Path(P);
        keep(b, k, 0);
        if (!settle_one(b, s, run, k, awake)) return undone(b, k, 0);
    }
    return -1;
}

i64 act(const FleetBatch& b) { return b.setup->path == Path::half ? act_rows<int(Path::half)>(b) : act_rows<-1>(b); }
i64 settle(const FleetBatch& b) {
    return b.setup->path == Path::half ? settle_rows<int(Path::half)>(b) : settle_rows<-1>(b);
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
