#include "../players.hpp"

#include "../learners/adahedge.hpp"
#include "../rounds/advice.hpp"
#include "../rounds/bandit.hpp"
#include "../rounds/diagnosis.hpp"
#include "../rounds/experts.hpp"
#include "../rounds/sleeping.hpp"

namespace hn::HN_ISA {
namespace {

bool weigh_anew(const Setup& s, Run& run) { return weigh_apart(s, run, run.scale, samples(s.smoothing)); }

bool make_ready(const Setup& s, Run& run, bool diagnosed) {
    const double scale = run.scale, value = run.value;
    if (!prepare(s, run, diagnosed)) return false;
    if (diagnosed && run.scale != scale) run.change += value - run.value;
    return true;
}

i64 act_expert(AtPlay& at) {
    Run& run = at.run;
    if (!make_ready(at.setup, run, true)) return -1;
    const i64 i = draw(at.setup, run, uniform(run.stream));
    run.probability = run.w[i] / run.total;
    run.round += 1.0;
    return i;
}

i64 act_arm(AtPlay& at) {
    if (!make_ready(at.setup, at.run, true)) return -1;
    const i64 i = draw_arm(at.setup, at.run);
    at.run.probability = at.run.w[i] / at.run.total;
    return i;
}

i64 act_on_advice(AtPlay& at, const Heard& heard) {
    if (!make_ready(at.setup, at.run, true)) return -1;
    i64 listed;
    return draw_action(at.setup, at.run, Advised<i64>{heard.actions, heard.shares}, listed);
}

i64 act_awake(AtPlay& at, const bool* awake, double* p) {
    if (!make_ready(at.setup, at.run, true)) return -1;
    restrict_to(at.setup, at.run, awake, p);
    return draw_among(at.setup, at.run, p);
}

i64 first_bad(const Setup& s, const double* losses) { return first_outside(losses, s.n, s.low, s.high); }

i64 observe_row(AtPlay& at, const double* losses, const double* ticket) {
    const Setup& s = at.setup;
    Run& run = at.run;
    const i64 bad = first_outside(losses, s.n, s.low, s.high);
    if (bad >= 0) return bad;
    if (s.smoothing == Smoothing::adahedge) {
        settle_adahedge(s, run, losses, ticket);
        return -1;
    }
    const double own = ticket ? (mean_under(ticket, losses, s.n) - s.origin) * s.slope : expected_loss(s, run, losses);
    at.before.copy(s, run);
    if (!settle_row(s, run, losses, own, true)) return -2;
    double low = losses[0], high = losses[0];
    for (i64 i = 1; i < s.n; ++i) low = least(losses[i], low), high = most(losses[i], high);
    const Run* then = at_old_scale(s, run, at.before, at.twin, -1);
    return diagnose(s, run, as_before(at.before), then, -1, own, (high - low) * size(s.slope)) ? -1 : -2;
}

/// <p, lhat> and the span of lhat = B + (x - B_i)/p_i e_i, p in place before the step.
void with_baselines(const Setup& s, const Run& run, const Run& before, i64 arm, double probability, double weight,
                    double x, double& paid, double& span) {
    const double lead = (x - run.scratch[arm]) * weight;
    paid = probability * lead;
    double low = infinity, high = -infinity;
    for (i64 j = 0; j < s.n; ++j) {
        const double estimate = run.scratch[j] + (j == arm ? lead : 0.0);
        paid += before.w[j] / before.total * run.scratch[j];
        low = least(estimate, low), high = most(estimate, high);
    }
    span = high - low;
}

Status observe_arm(AtPlay& at, i64 arm, double probability, double weight, double loss) {
    const Setup& s = at.setup;
    Run& run = at.run;
    if (!(s.low <= loss && loss <= s.high)) return Status::bad_loss;
    const double x = (loss - s.origin) * s.slope, estimate = x * weight;
    if (s.path == Path::entropy_one && s.estimator != Estimator::reduced_variance) {
        // Of what was before, two numbers are enough.
        const double w = run.w[arm], L = run.L[arm];
        const Before was{&w - arm, &L - arm, run.total, run.value, run.scale};
        if (!settle_arm(s, run, arm, weight, x, true)) return Status::failed;
        return diagnose(s, run, was, &run, arm, probability * estimate, estimate) ? Status::fine : Status::failed;
    }
    at.before.copy(s, run);
    if (!settle_arm(s, run, arm, weight, x, true)) return Status::failed;
    double paid = probability * estimate, span = estimate;
    const bool reduced = s.estimator == Estimator::reduced_variance;
    if (reduced) with_baselines(s, run, at.before, arm, probability, weight, x, paid, span);
    const i64 hit = reduced ? -1 : arm;
    const Run* then = at_old_scale(s, run, at.before, at.twin, arm);
    return diagnose(s, run, as_before(at.before), then, hit, paid, span) ? Status::fine : Status::failed;
}

Status observe_on_advice(AtPlay& at, const Heard& heard, i64 action, double weight, double loss) {
    const Setup& s = at.setup;
    Run& run = at.run;
    if (!(s.low <= loss && loss <= s.high)) return Status::bad_loss;
    const double x = (loss - s.origin) * s.slope;
    at.before.copy(s, run);
    if (!settle_action(s, run, Advised<i64>{heard.actions, heard.shares}, action, -1, weight, x, true)) return Status::failed;
    // <p, phi(lhat)> under the weights before, and the span of phi(lhat).
    double paid = 0.0, low = infinity, high = -infinity;
    for (i64 i = 0; i < s.n; ++i) {
        const double share = heard.shares ? heard.shares[i * s.actions + action] : double(heard.actions[i] == action);
        paid += at.before.w[i] * share;
        low = least(share, low), high = most(share, high);
    }
    paid *= x * weight / at.before.total;
    const Run* then = at_old_scale(s, run, at.before, at.twin, -1);
    return diagnose(s, run, as_before(at.before), then, -1, paid, (high - low) * x * weight) ? Status::fine : Status::failed;
}

Status observe_awake(AtPlay& at, const bool* awake, i64 arm, double weight, double loss) {
    const Setup& s = at.setup;
    Run& run = at.run;
    if (!(s.low <= loss && loss <= s.high)) return Status::bad_loss;
    at.before.copy(s, run);
    double paid, span;
    if (!settle_among(s, run, awake, arm, weight, (loss - s.origin) * s.slope, paid, span, true)) return Status::failed;
    const Run* then = at_old_scale(s, run, at.before, at.twin, -1);
    return diagnose(s, run, as_before(at.before), then, -1, paid, span) ? Status::fine : Status::failed;
}

void restore_sums(const Setup& s, Run& run) {
    if (s.tree()) grow(run.w, s.n, run.tree);
}

}  // namespace

extern const Players players;
const Players players = {begin, weigh_anew, make_ready,  act_expert,        act_arm,       act_on_advice,  act_awake,
                         restrict_to, first_bad, observe_row, observe_arm, observe_on_advice, observe_awake,
                         restore_sums, charge_sleepers};

}  // namespace hn::HN_ISA
