// Evidence about the arms of a bandit: capitals whose growth would disprove a value of a mean loss.
//
// For a grid of bets lambda_j with weights w_j, a row of the table holds W_j and C_j such that, for either target theta of
// docs/proofs/evidence.md, sum_j w_j exp(W_j + lambda_j (C_j - theta)) is a nonnegative supermartingale that starts at 1.
// By Ville's inequality the smallest theta at which it is at most 1/level is a lower bound at all times simultaneously.
#pragma once

#include "dispatch.hpp"
#include "types.hpp"

namespace hn {

/// Number of bets, share of a factor that a center may use up, and the smallest probability that is divided by.
inline constexpr int bets = 16;
inline constexpr double center_share = 0.5, smallest_probability = 1e-6;
/// Bets of the table of realized losses, relative to the others.
inline constexpr double regret_factor = 16.0;

inline constexpr double log_weights[bets] = {
    -1.7893105120770425, -2.0769925845288233, -2.300136135843033, -2.482457692636988,
    -2.636608372464246, -2.7701397650887687, -2.887922800745152, -2.9932833164029784,
    -3.088593496207303, -3.175604873196933, -3.2556475808704692, -3.3297555530241914,
    -3.3987484245111426, -3.463286945648714, -3.5239115674651487, -3.5810699813050975};

/// Exponents of one capital: logarithm W and compensation C per bet.
struct EvidenceRow {
    double W[bets], C[bets];
};

/// Evidence about one arm. Side 0 is about losses, side 1 about one minus losses.
struct ArmEvidence {
    EvidenceRow main[2], regret, fixed[2];
    double drawn, settled, sum;
    double least = 1.0;  // smallest probability of the arm at any draw
};

/// Capitals of two arms with fixed means: against "the mean of this arm is small", and "the mean of that arm is large".
struct Product {
    const EvidenceRow *above, *below;
    double drawn_above, drawn_below;
};

struct EvidenceKernels {
    /// A draw with these probabilities; its feedback counts as the worst case until it is settled.
    void (*act)(ArmEvidence* arms, i64 n, const double* centers, const double* probabilities, i64 drawn);
    /// The feedback of a draw, with the center and the probability of that draw.
    void (*settle)(ArmEvidence& arm, double center, double probability, double loss);
    /// The smallest theta in [0, top] at which the capital is at most e^threshold, rounded down. `other` may be null; its
    /// exponents are added, so that two capitals multiply.
    double (*low)(const EvidenceRow& row, const EvidenceRow* other, double factor, double top, double threshold);
    /// A lower bound on min over m of log of the capital against "m_above <= m + shift" times that against "m_below >= m".
    double (*product)(const Product& pair, double shift);
};

}  // namespace hn

HN_FAMILY(EvidenceKernels, evidence)
