// MYGA's mixture of experts and thresholds.
#pragma once

#include "dispatch.hpp"
#include "types.hpp"

namespace hn {

/// K actions, N experts with cumulative losses L, S thresholds gamma + (k+1) step with theirs.
struct MygaState {
    i64 actions, experts, thresholds;
    double eta, gamma, step;
    double *L, *mistrust;  // N; S
};

struct Myga {
    /// q, majority (0 or 1) and p (K each) of a row of advice (N, K); w (N) and tails (S + 1) are scratch.
    void (*mix)(const MygaState&, const double* advice, double* q, double* majority, double* p, double* w,
                double* tails);
    /// L and mistrust += share of the arm times l/p, for each expert and threshold; q and majority are those
    /// of the ticket.
    void (*charge)(MygaState&, const double* advice, const double* q, const double* majority, i64 arm,
                   double estimate);
};

}  // namespace hn
HN_FAMILY(Myga, myga)
