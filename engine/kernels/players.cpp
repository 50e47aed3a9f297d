#include "../players.hpp"

#include "../learners/adahedge.hpp"
#include "../rounds/advice.hpp"
#include "../rounds/bandit.hpp"
#include "../rounds/diagnosis.hpp"
#include "../rounds/experts.hpp"
#include "../rounds/sleeping.hpp"
#include "../smoothings/exponential.hpp"

namespace hn::HN_ISA {
namespace {

bool weigh_anew(const Setup& s, Run& run) { return weigh_apart(s, run, run.scale, s.samples()); }

bool make_ready(const Setup& s, Run& run, bool diagnosed) {
    const double scale = run.scale, value = run.value;
    if (!prepare(s, run, diagnosed)) {
        at_scale(run, scale);  // scale of the current weights
        return false;
    }
    if (diagnosed && run.scale != scale) run.change += value - run.value;
    return true;
}

/// Undo a step that failed, because of a user-defined smoothing or a lack of memory.
HN_COLD bool undone(AtPlay& at) {
    at.run.copy(at.setup, at.before);
    return false;
}
HN_INLINE Status outcome(AtPlay& at, bool fine) { return fine || undone(at) ? Status::fine : Status::failed; }

i64 act_expert(AtPlay& at) {
    Run& run = at.run;
    if (!make_ready(at.setup, run, true)) return -1;
    const i64 i = draw(at.setup, run, uniform(run.stream));
    run.probability = run.w[i] / run.total;
    ++run.round;
    return i;
}

i64 act_arm(AtPlay& at) {
    if (!make_ready(at.setup, at.run, true)) return -1;
    const bool asks = at.setup.estimator == Estimator::foreign;
    if (asks) at.before.copy(at.setup, at.run);
    const i64 i = draw_arm(at.setup, at.run);
    if (asks && !(at.run.weight >= 0.0)) return undone(at), -1;
    at.run.probability = chance_of(at.setup, at.run, i);
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
    if (s.is(Memory::adahedge)) {
        settle_adahedge(s, run, losses, ticket);
        return -1;
    }
    const double own =
        ticket ? (mean_under(ticket, losses, s.n) - s.origin) * s.slope : expected_loss(s, run, losses);
    at.before.copy(s, run);
    if (!settle_row(s, run, losses, own, true)) return undone(at), -2;
    double low = losses[0], high = losses[0];
    for (i64 i = 1; i < s.n; ++i) {
        low = min(losses[i], low);
        high = max(losses[i], high);
    }
    const Run* then = at_old_scale(s, run, at.before, at.twin);
    return diagnose(s, run, as_before(at.before), then, -1, own, (high - low) * abs(s.slope)) || undone(at)
               ? -1
               : -2;
}

/// Estimates lhat of a bandit's round: <p, lhat>, the span of lhat, and its maximum.
struct Estimated {
    double paid, span, highest;
};

/// lhat = B + (x - B_i)/p_i e_i, with B in scratch and p from the weights before the step.
HN_INLINE Estimated with_baselines(const Setup& s, const Run& run, const double* w, double total, i64 arm,
                                   double probability, double weight, double x) {
    const double lead = (x - run.scratch[arm]) * weight;
    f64x4 mean{}, low = splat(infinity), high = splat(-infinity);
    for (i64 j = 0; j < s.n; j += 4) {
        const f64x4 baseline = load4(run.scratch + j);
        const f64x4 estimate = baseline + only(i64x4(lanes(j) == splat(arm)), splat(lead));
        const i64x4 inside = i64x4(lanes(j) < splat(s.n));
        mean += load4(w + j) * baseline;
        low = min(select(inside, estimate, low), low);
        high = max(select(inside, estimate, high), high);
    }
    const double highest = fold_max(high);
    return {probability * lead + fold(mean) / total, highest - fold_min(low), highest};
}

/// Only one arm has changed, or with baselines all likely arms by the same amount: one pass at each of the two scales,
/// with the same losses.
Status observe_by_series(AtPlay& at, i64 arm, double probability, double weight, double x) {
    const Setup& s = at.setup;
    HN_KNOWN(by_series(s.path));
    Run& run = at.run;
    const RunNumbers was = run;
    double* w = at.before.w;
    for (i64 j = 0; j < s.n; j += 4) store4(w + j, load4(run.w + j));
    run.own += x;
    const double value = charged(s, run, arm, weight, x), base = run.base, scale = next_scale(s, run);
    const bool half = s.path == Path::half,
               quick = half ? s.gamma == 1.5 : s.path == Path::barrier && s.gamma == 2.0;
    // At the previous scale, where the root determines everything; started first, so that the two computations overlap.
    SeriesRoot root{};
    if (quick && scale != was.scale)
        root = half ? Barrier<2>::root_after(s, run, arm, value) : Barrier<1>::root_after(s, run, arm, value);
    if (!weigh_one(s, run, arm, value, scale, true)) return Status::failed;
    Estimated lhat{probability * (x * weight), x * weight, x * weight};
    const bool reduced = s.estimator == Estimator::reduced_variance;
    if (reduced) lhat = with_baselines(s, run, w, was.total, arm, probability, weight, x);
    Run* then = &run;
    if (scale != was.scale) {
        then = &at.twin;
        if (root.fine) {
            then->base = base;
            then->warm = root.y;
            then->value = root.value;  // other entries are not read below
        } else {
            static_cast<RunNumbers&>(*then) = was;
            double* const own = then->L;
            then->L = run.L;
            then->w[arm] = w[arm];
            then->base = base;
            const bool fine = weigh_one(s, *then, arm, value, was.scale, true);
            then->L = own;
            if (!fine) return Status::failed;
        }
    }
    add_terms(run, was.value, *then, lhat.paid);
    if (lhat.span < least_span) return Status::fine;
    const Before before{w, nullptr, was.total, was.value, was.scale};
    const double gap = quick ? series_gap(s.path, was, *then, lhat.highest)
                             : divergence(s, run, before, *then, reduced ? -1 : arm);
    run.level = max(gap / lhat.span, run.level);
    return Status::fine;
}

/// Exponential law: at the previous scale, p of the drawn arm and Phi suffice.
Status observe_exponential(AtPlay& at, i64 arm, double probability, double weight, double x) {
    const Setup& s = at.setup;
    HN_KNOWN(s.path == Path::called && !s.has_baselines());
    Run& run = at.run;
    const double p = run.w[arm] / run.total, value = run.value, scale = run.scale, estimate = x * weight;
    if (!settle_arm(s, run, arm, weight, x, true)) return Status::failed;
    OneArm then{run.w[arm] / run.total, run.value};
    if (run.scale != scale) {
        then = exponential_one(s, run.L, scale, arm, at.twin.w);
        run.change += then.value - run.value;
    }
    run.drift += probability * estimate - (then.value - value);
    if (estimate >= least_span && then.p > 0.0)
        run.level = max(log_gap(p, then.p, s.gamma) / estimate, run.level);
    return Status::fine;
}

Status observe_arm(AtPlay& at, i64 arm, double probability, double weight, double loss) {
    const Setup& s = at.setup;
    Run& run = at.run;
    if (!(s.low <= loss && loss <= s.high)) return Status::bad_loss;
    const double x = (loss - s.origin) * s.slope, estimate = x * weight;
    if (by_series(s.path)) return observe_by_series(at, arm, probability, weight, x);
    const bool reduced = s.has_baselines();
    if (s.path == Path::called && s.is(Smoothing::exponential) && !reduced)
        return observe_exponential(at, arm, probability, weight, x);
    if (s.path == Path::entropy_one && !reduced) {
        // Two numbers of the previous state are enough.
        const double w = run.w[arm], L = run.L[arm];
        const Before was{&w - arm, &L - arm, run.total, run.value, run.scale};
        if (!settle_arm(s, run, arm, weight, x, true)) return Status::failed;
        return diagnose(s, run, was, &run, arm, probability * estimate, estimate) ? Status::fine
                                                                                  : Status::failed;
    }
    at.before.copy(s, run);
    HN_KNOWN(!by_series(s.path));
    if (!settle_arm(s, run, arm, weight, x, true)) return outcome(at, false);
    Estimated lhat{probability * estimate, estimate, estimate};
    if (reduced) lhat = with_baselines(s, run, at.before.w, at.before.total, arm, probability, weight, x);
    const Run* then = at_old_scale(s, run, at.before, at.twin);
    return outcome(at,
                   diagnose(s, run, as_before(at.before), then, reduced ? -1 : arm, lhat.paid, lhat.span));
}

Status observe_on_advice(AtPlay& at, const Heard& heard, i64 action, double weight, double loss) {
    const Setup& s = at.setup;
    Run& run = at.run;
    if (!(s.low <= loss && loss <= s.high)) return Status::bad_loss;
    const double x = (loss - s.origin) * s.slope;
    at.before.copy(s, run);
    if (!settle_action(s, run, Advised<i64>{heard.actions, heard.shares}, action, -1, weight, x, true))
        return outcome(at, false);
    // <p, phi(lhat)> with the previous weights, and the span of phi(lhat).
    double paid = 0.0, low = infinity, high = -infinity;
    for (i64 i = 0; i < s.n; ++i) {
        const double share =
            heard.shares ? heard.shares[i * s.actions + action] : double(heard.actions[i] == action);
        paid += at.before.w[i] * share;
        low = min(share, low);
        high = max(share, high);
    }
    paid *= x * weight / at.before.total;
    const Run* then = at_old_scale(s, run, at.before, at.twin);
    return outcome(at, diagnose(s, run, as_before(at.before), then, -1, paid, (high - low) * x * weight));
}

Status observe_awake(AtPlay& at, const bool* awake, i64 arm, double weight, double loss) {
    const Setup& s = at.setup;
    Run& run = at.run;
    if (!(s.low <= loss && loss <= s.high)) return Status::bad_loss;
    at.before.copy(s, run);
    double paid, span;
    if (!settle_among(s, run, awake, arm, weight, (loss - s.origin) * s.slope, paid, span, true))
        return outcome(at, false);
    const Run* then = at_old_scale(s, run, at.before, at.twin);
    return outcome(at, diagnose(s, run, as_before(at.before), then, -1, paid, span));
}

void restore_sums(const Setup& s, Run& run) {
    if (s.tree()) grow(run.w, s.n, run.tree);
}

}  // namespace

extern const Players players;
const Players players = {begin,         weigh_anew,        make_ready,    act_expert,   act_arm,
                         act_on_advice, act_awake,         restrict_to,   first_bad,    observe_row,
                         observe_arm,   observe_on_advice, observe_awake, restore_sums, charge_sleepers};

}  // namespace hn::HN_ISA
