"""Learners of the tournament, with their guarantees in words."""

from __future__ import annotations

from typing import Any

from benchmarks.tournament.rules import Contestant, Setting
from hannan.learners import algorithms
from hannan.learners.adahedge import AdaHedge
from hannan.learners.bandits import Bandit
from hannan.learners.delayed import TsallisShannon
from hannan.learners.estimators import ConditionalResampling, GeometricResampling, ReducedVariance
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.experts import Experts
from hannan.learners.first_order import Exp3Light, Green
from hannan.learners.fpl import FPL, Decisions, FPLTrix
from hannan.learners.lb_inf import LBInf
from hannan.learners.myga import MYGA
from hannan.learners.noisy import Dropout, RandomPlayout, RandomWalk
from hannan.learners.second_order import AdaNormalHedge, MLPoly, Squint
from hannan.learners.stochastic import KLUCB, MOSS, UCB1, EpsilonGreedy, ExploreThenCommit, Thompson
from hannan.learners.tuning import Anytime, Horizon, SelfConfident
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.regularizers import LogBarrier, Tsallis

#: Number of changes of the best choice for which fixed share and Exp3.S are tuned.
SWITCHES = 9

_EXPERTS = (
    ("Experts (the default)", lambda n, t: Experts(n), "2c' + 2 sqrt(c'^2 + c'(L*+1)), c' = H_n - 1"),
    ("Exponential, Horizon", lambda n, t: Experts(n, tuning=Horizon(t)), "sqrt(c' T)"),
    ("Hedge", lambda n, t: algorithms.hedge(n), "2c' + 2 sqrt(c'^2 + c'(L*+1)), c' = ln n"),
    ("Hedge, Horizon", lambda n, t: algorithms.hedge(n, t), "sqrt(T ln n/2)"),
    ("Tsallis 1/2", lambda n, t: Experts(n, Tsallis()), "2c' + 2 sqrt(c'^2 + c'(L*+1))"),
    ("AdaHedge", lambda n, t: AdaHedge(n, (0.0, 1.0)), "2 sqrt(V ln n) + 4/3 ln n + 2"),
    ("Squint", lambda n, t: Squint(n), "O(sqrt(V (ln n + ln ln T)))"),
    ("AdaNormalHedge", lambda n, t: AdaNormalHedge(n), "sqrt(3 C ln(n B)), B = 5/2 + 3/2 ln(1+T)"),
    ("ML-Poly", lambda n, t: MLPoly(n), "sqrt(n (1 + ln(1+T)) (1+V))"),
    (
        "Fixed share",
        lambda n, t: algorithms.fixed_share(n, t, SWITCHES),
        f"follows {SWITCHES} changes of the best expert",
    ),
    ("Dropout", lambda n, t: Dropout(n), "O(sqrt(L* ln n) + ln n), no tuning"),
    ("Random walk", lambda n, t: RandomWalk(n), "8 sqrt(2 T ln n) + ..., few switches"),
    ("Random playout", lambda n, t: RandomPlayout(n, t), "m sqrt(2 T), m the mean of the largest of n normal numbers"),
)
_BANDITS = (
    (
        "Tsallis-INF, RV (the default)",
        lambda n, t: Bandit(n),
        "2 sqrt(nT) - sqrt T + 10/3 n ln T + ...; log T if stochastic",
    ),
    ("Tsallis 1/2, RV, Horizon", lambda n, t: Bandit(n, tuning=Horizon(t)), "sqrt(2 (n - sqrt n) T) + O(n)"),
    ("Tsallis 1/2, least bound", lambda n, t: Bandit(n, Tsallis(0.5)), "4 sqrt((n - sqrt n) T)"),
    ("Tsallis-INF, IW", lambda n, t: algorithms.tsallis_inf(n, False), "4 sqrt(nT) + 1; log T if stochastic"),
    ("Frechet FTPL", lambda n, t: algorithms.frechet_ftpl(n), "O(sqrt(nT)); log T if stochastic"),
    (
        "Frechet FTPL, resampled",
        lambda n, t: algorithms.frechet_ftpl(n, 2.0, GeometricResampling(100 * n)),
        "as Frechet FTPL, plus the bias of the cap",
    ),
    (
        "Frechet FTPL, conditionally resampled",
        lambda n, t: algorithms.frechet_ftpl(n, 2.0, ConditionalResampling(100 * n)),
        "as Frechet FTPL, plus the bias of the cap",
    ),
    ("Frechet FTPL, RV", lambda n, t: algorithms.frechet_ftpl(n, 2.0, ReducedVariance()), "none proved: experimental"),
    ("Exponential FTPL", lambda n, t: Bandit(n, Exponential()), "2 sqrt(c' n T), c' = H_n - 1"),
    ("Exp3", lambda n, t: algorithms.exp3(n), "2 sqrt(n T ln n)"),
    ("Exp3, Horizon", lambda n, t: algorithms.exp3(n, t), "sqrt(2 n T ln n)"),
    ("Exp3-IX", lambda n, t: algorithms.exp3_ix(n, t), "small with high probability"),
    ("Exp3.S", lambda n, t: algorithms.exp3_s(n, t, SWITCHES), f"follows {SWITCHES} changes of the best arm"),
    ("Log-barrier", lambda n, t: Bandit(n, LogBarrier(), SelfConfident(t)), "2A + 2 sqrt(A^2 + A(L*+1)), first order"),
    ("LB-INF", lambda n, t: LBInf(n, t), "O(sqrt(n T ln T)); O(sqrt(n log T min(L*, Q, V)) + n log T)"),
    ("LB-INF, no rounds", lambda n, t: LBInf(n), "O(sqrt(n T ln T)); n (ln T)^2/gap if stochastic"),
    ("Green", lambda n, t: Green(n, rounds=t), "sqrt(2 n L* ln n) + (n-1) (ln(2T) + 2)/2 + ..., tuned for L* = T"),
    ("Exp3Light", lambda n, t: Exp3Light(n), "sqrt(6 n L* ln n) + O(n ln L* ln T), no tuning"),
    ("Thompson", lambda n, t: Thompson(n), "O(sqrt(n T ln T)), i.i.d. losses only"),
    ("Thompson, Gaussian", lambda n, t: Thompson(n, "gaussian"), "O(sqrt(n T ln n)), i.i.d. losses only"),
    ("UCB1", lambda n, t: UCB1(n), "2 sqrt(8 n T ln T) + ..., i.i.d. losses only"),
    ("MOSS", lambda n, t: MOSS(n, t), "19.5 sqrt(n T) + ..., i.i.d. losses only"),
    ("KL-UCB, c = 3", lambda n, t: KLUCB(n), "2 sqrt(2 n T ln T) + ..., i.i.d. losses only"),
    ("KL-UCB, c = 0", lambda n, t: KLUCB(n, 0.0), "none"),
    ("Epsilon-greedy", lambda n, t: EpsilonGreedy(n), "O(T^(2/3) (n ln T)^(1/3)), i.i.d. losses only"),
    ("Epsilon-greedy, 0.1", lambda n, t: EpsilonGreedy(n, 0.1), "none"),
    ("Explore then commit", lambda n, t: ExploreThenCommit(n, t), "O(T^(2/3) (n ln n)^(1/3)), i.i.d. losses only"),
    (
        "Tsallis-Shannon",
        lambda n, t: TsallisShannon(n),
        "4 sqrt(nT) - 2 sqrt T without delay; 4 sqrt(nT) + sqrt(8 D ln n) with total delay D",
    ),
)
_EXPERT_BANDITS = (
    ("ExpertBandit (the default)", lambda k, n, t: ExpertBandit(k, n), "2 sqrt(c' min(K, N) T)"),
    ("Exponential, Horizon", lambda k, n, t: ExpertBandit(k, n, tuning=Horizon(t)), "sqrt(2 c' min(K, N) T)"),
    ("Exp4", lambda k, n, t: algorithms.exp4(k, n), "2 sqrt(min(K, N) T ln N)"),
    ("Exp4, Horizon", lambda k, n, t: algorithms.exp4(k, n, t), "sqrt(2 min(K, N) T ln N)"),
    ("Exp4, clipped", lambda k, n, t: algorithms.exp4_clipped(k, n), "first order, L*^(2/3)"),
    ("Exponential, clipped", lambda k, n, t: ExpertBandit(k, n, clip="tuned"), "first order, L*^(2/3)"),
    ("Tsallis 1/2", lambda k, n, t: ExpertBandit(k, n, Tsallis(), Anytime()), "2 sqrt(c' min(K, N) T)"),
    ("MYGA", lambda k, n, t: MYGA(k, n, t), "O(sqrt(K L* log(N+T))); played without L*"),
)
_COMBINATORIAL = (
    ("FPL, uniform", lambda v, t: FPL.tuned(v, t), "2 sqrt(D R A T); D diameter, R = m, A = d"),
    (
        "FPL, exponential",
        lambda v, t: FPL.tuned(v, t, "exponential"),
        "e^(A/s) (L* + D s (1 + ln d)) - L*, s the scale",
    ),
    (
        "FPL-TRIX",
        lambda v, t: FPLTrix(v),
        "13 m sqrt(d L* (1 + ln(d/m))) + O(m^2 d log dT); observes only the chosen components",
    ),
    (
        "Hedge over all decisions",
        lambda v, t: algorithms.hedge(len(v.every()), **_sums(v)),
        "first order, c' = ln N, times m",
    ),
    (
        "Tsallis-INF over all decisions",
        lambda v, t: Bandit(len(v.every()), **_sums(v)),
        "(2 sqrt(NT) - sqrt T + 10/3 N ln T + ...) m; observes only the sum of the chosen components",
    ),
)


def _sums(decisions: Decisions) -> dict[str, Any]:
    """Return the range of the cost of a decision."""
    return {"loss_range": (0.0, float(decisions.most))}


def contestants(setting: Setting) -> tuple[Contestant, ...]:
    """Return the contestants of a setting.

    >>> contestants("bandit")[0].build(8, 1000)
    Bandit(8, smoothing=Tsallis(alpha=0.5), tuning=Anytime(factor=0.5), estimator=ReducedVariance())
    """
    field = {
        "experts": _EXPERTS,
        "bandit": _BANDITS,
        "expert_bandit": _EXPERT_BANDITS,
        "combinatorial": _COMBINATORIAL,
    }[setting]
    slow = {"MYGA": 2, "FPL-TRIX": 16}
    return tuple(Contestant(setting, name, build, promise, slow.get(name, 1_000_000)) for name, build, promise in field)
