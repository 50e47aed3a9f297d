// A bandit replayed on a log of decisions that another policy made.
#pragma once

#include "dispatch.hpp"
#include "players.hpp"

namespace hn {

/// Sums over the rows: w = q/propensity, l the loss, dr the doubly robust term; and over the rows accepted.
struct ReplaySums {
    double rows, w, w2, wl, wl2, w2l, w2l2, dr, dr2, accepted, loss, loss2;
    /// Squared distances from the mean of the terms before: of w l, of dr (mean clamped to the loss range), of accepted losses.
    double wl_beside, dr_beside, loss_beside;
};

/// Rows of a log. `totals`, `seen` and `q` (K each): what the rows before say of each action's loss, and the learner's
/// distribution at the row.
struct ReplayJob {
    AtPlay* at;
    const i64* actions;
    const double *losses, *propensities;
    const i64* advice;  // (rows, experts), or null
    i64 rows;
    double floor;  // at most every propensity
    Words* coins;
    double *totals, *seen, *q;
    ReplaySums* sums;
    bool failed = false;  // of the row that is returned: the smoothing, not the loss
};

struct Replay {
    /// -1, or the row that could not be settled.
    i64 (*rows)(ReplayJob&);
};

}  // namespace hn
HN_FAMILY(Replay, replay)
