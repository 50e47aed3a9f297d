// The steps of a live player: what a round is, with its diagnosis.
#pragma once

#include "dispatch.hpp"
#include "setup.hpp"

namespace hn {

/// A run at play: its state, and two more to look back with.
struct AtPlay {
    Setup setup;
    Run run, before, twin;
};

/// Advice of a round: one action per expert, or (experts, actions) shares.
struct Heard {
    const i64* actions = nullptr;
    const double* shares = nullptr;
};

struct Players {
    bool (*begin)(const Setup&, Run&);
    /// The weights of the losses in place, at the scale in place.
    bool (*weigh_anew)(const Setup&, Run&);
    /// Bring the weights to the round to be played; `diagnosed`: as a part of the play, not for a look.
    bool (*make_ready)(const Setup&, Run&, bool diagnosed);
    /// Draws: the action, or -1 when the smoothing failed. run.probability and run.weight are of the move.
    i64 (*act_expert)(AtPlay&);
    i64 (*act_arm)(AtPlay&);
    i64 (*act_on_advice)(AtPlay&, const Heard&);
    i64 (*act_awake)(AtPlay&, const bool* awake, double* p);
    void (*share_awake)(const Setup&, const Run&, const bool* awake, double* p);
    /// The first loss that is out of range, or -1.
    i64 (*first_bad)(const Setup&, const double* losses);
    /// -1, the place of the first bad loss (nothing moved), or -2 when the smoothing failed. `ticket`: the distribution
    /// of a late move, or null for the one in place.
    i64 (*observe_row)(AtPlay&, const double* losses, const double* ticket);
    Status (*observe_arm)(AtPlay&, i64 arm, double probability, double weight, double loss);
    Status (*observe_on_advice)(AtPlay&, const Heard&, i64 action, double weight, double loss);
    Status (*observe_awake)(AtPlay&, const bool* awake, i64 arm, double weight, double loss);
    /// The partial sums of the weights in place, after they were read from a file.
    void (*restore_sums)(const Setup&, Run&);
    void (*charge_sleepers)(const double* p, const bool* awake, double* losses, i64 n);
};

}  // namespace hn
HN_FAMILY(Players, players)
