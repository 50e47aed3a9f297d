"""Tables of learners: for each kind of feedback, the learners with their bounds and adversaries.

`benchmarks.tournament.field` lists the learners and describes their guarantees. Each learner computes its own bound and
adversary, so the tables agree with the code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import hannan as hn
from benchmarks.tournament.field import contestants
from benchmarks.tournament.rules import SETTINGS
from hannan.saving.formatting import ceiling

#: Number of choices, experts and rounds for which bounds are shown.
N, EXPERTS, ROUNDS = 8, 16, 10_000

SEEN = {
    "experts": "the loss of every choice",
    "bandit": "only the loss of your choice",
    "expert_bandit": "advice of several experts before the move, then the loss of your action",
    "combinatorial": "the losses of the components of a decision (paths, assignments, subsets of size m)",
    "convex": "a convex loss function on a set of points",
}


class Row(NamedTuple):
    """A row of a table: feedback, name, code, guarantee, bound (or `withheld`), adversary (or the reason)."""

    seen: str
    name: str
    code: str
    promise: str
    bound: str
    against: str


class Need(NamedTuple):
    """A requirement that the default learners do not meet, and a learner that meets it."""

    need: str
    code: str
    learner: Callable[[], Any]
    asked: dict[str, Any]


NEEDS = (
    Need(
        "losses may depend on past moves (adaptive adversary)",
        "hn.exp3_ix(n, rounds)",
        lambda: hn.exp3_ix(N, ROUNDS),
        {"against": "any"},
    ),
    Need(
        "a bound for a single run, with probability at least 0.95",
        "hn.exp3_ix(n, rounds)",
        lambda: hn.exp3_ix(N, ROUNDS),
        {"delta": 0.05},
    ),
    Need(
        "the number of rounds is known; only the own loss is observed",
        "hn.Bandit(n, tuning=hn.Horizon(rounds))",
        lambda: hn.Bandit(N, tuning=hn.Horizon(ROUNDS)),
        {},
    ),
    Need(
        "feedback arrives late (bound: at most d = 10 moves before a loss arrives)",
        "hn.TsallisShannon(n, delay=d)",
        lambda: hn.TsallisShannon(N, delay=10),
        {},
    ),
    Need("rewards are rare, such as clicks", "hn.LBInf(n)", lambda: hn.LBInf(N), {}),
    Need(
        "the best choice changes over time (bound: 9 changes)",
        "hn.fixed_share(n, rounds, switches=9)",
        lambda: hn.fixed_share(N, ROUNDS, 9),
        {},
    ),
    Need(
        "the best choice changes; only the own loss is observed (bound: 9 changes)",
        "hn.exp3_s(n, rounds, switches=9)",
        lambda: hn.exp3_s(N, ROUNDS, 9),
        {},
    ),
    Need("the range of the losses is unknown", "hn.AdaHedge(n)", lambda: hn.AdaHedge(N), {}),
    Need("losses are certain to be i.i.d.", "hn.Thompson(n)", lambda: hn.Thompson(N), {}),
    Need(
        "one (epsilon, delta) for all moves; every loss is observed",
        "hn.PrivateExperts(n, epsilon=1.0, rounds=rounds)",
        lambda: hn.PrivateExperts(N, 1.0, rounds=ROUNDS),
        {},
    ),
    Need(
        "one epsilon for any number of rounds; only the own loss is observed",
        "hn.LocallyPrivate(hn.Bandit(n), epsilon=1.0)",
        lambda: hn.LocallyPrivate(hn.Bandit(N), 1.0),
        {},
    ),
    Need(
        "m of n items per round, such as a page of products", "hn.SlateBandit(n, m)", lambda: hn.SlateBandit(N, 2), {}
    ),
    Need(
        "m of n items per round; losses may depend on past moves",
        "hn.SlateBandit.robust(n, m, rounds)",
        lambda: hn.SlateBandit.robust(N, 2, ROUNDS),
        {"against": "any"},
    ),
    Need(
        "m of n items per round; the losses of all items are observed",
        "hn.SlateExperts(n, m)",
        lambda: hn.SlateExperts(N, 2),
        {},
    ),
    Need(
        "m of n items in an order; the loss of an item counts with the weight of its position",
        "hn.SlateBandit(n, m, smoothing=hn.Exponential(), positions=[1, 0.5])",
        lambda: hn.SlateBandit(N, 2, smoothing=hn.Exponential(), positions=[1.0, 0.5]),
        {},
    ),
    Need(
        "one (epsilon, delta) for all moves in a ball; linear losses",
        "hn.PrivateBall(hn.Ball(3), lipschitz, epsilon=1.0, rounds=rounds)",
        lambda: hn.PrivateBall(hn.Ball(3), 1.0, 1.0, rounds=ROUNDS),
        {},
    ),
    Need(
        "differential privacy of single points of a convex set",
        'hn.Convex(domain, lipschitz, guarantee="privacy", ...)',
        lambda: hn.Convex(hn.Ball(3), 1.0, tuning=hn.Horizon(ROUNDS), smooth=0.0, guarantee="privacy"),
        {},
    ),
)

#: Code of the first learner of each setting, and a function that makes a move with its feedback.
WRITTEN = {
    "experts": ("hn.Experts({n})", lambda player: (player.act(), [0.5] * N)),
    "bandit": ("hn.Bandit({n})", lambda player: (player.act(), 0.5)),
    "expert_bandit": ("hn.ExpertBandit({n}, {experts})", lambda player: (player.act([0] * EXPERTS), 0.5)),
    "combinatorial": ("hn.FPL.tuned(hn.MSets({n}, 2), {rounds})", lambda player: (player.act(), [0.5] * N)),
    "convex": (
        "hn.Convex(hn.Ball(3), 1.0, tuning=hn.Horizon({rounds}), smooth=0.0)",
        lambda player: (player.act(), hn.Linear([0.5, 0.0, 0.0])),
    ),
}
#: Rows of a certificate, as the table names them.
CERTIFIED = {
    "bound": "bound",
    "regret": "regret",
    "estimate": "estimated regret",
    "stability": "stability",
}


def built(setting: str, contestant: Any) -> Any:
    """Return the learner of a contestant, with the sizes of the tables."""
    if setting == "combinatorial":
        return contestant.build(hn.MSets(N, 2), ROUNDS)
    if setting == "expert_bandit":
        return contestant.build(N, EXPERTS, ROUNDS)
    return contestant.build(N, ROUNDS)


def proved(learner: Any, **asked: Any) -> tuple[str, str]:
    """Return (bound, adversary), or ("withheld", reason).

    >>> proved(hn.Experts(8, hn.Entropy(), hn.Horizon(10_000)))
    ('102', 'any losses')
    """
    try:
        bound = learner.bound(rounds=ROUNDS, **asked)
    except ValueError as reason:
        return "withheld", str(reason)
    return ceiling(bound.value), f"{'i.i.d.' if bound.against == 'iid' else bound.against} losses"


def written(setting: str) -> Any:
    """Return the first learner of a setting.

    >>> written("experts")
    Experts(8, smoothing=Exponential(), tuning=SelfConfident(rounds=None))
    """
    return eval(WRITTEN[setting][0].format(n=N, experts=EXPERTS, rounds=ROUNDS), {"hn": hn})


def certified(setting: str) -> str:
    """Return the contents of the learner's certificate after one round.

    >>> certified("bandit")
    'bound; estimated regret; stability'
    """
    player = written(setting).start(seed=0)
    player.observe(*WRITTEN[setting][1](player))
    lines = {name for name, _ in player.certificate().rows()}
    lines -= {"regret"} if "estimate" in lines else set()
    return "; ".join(words for name, words in CERTIFIED.items() if name in lines)


def rows() -> list[Row]:
    """Return every learner of every setting."""
    found = []
    for setting in SETTINGS:
        for contestant in contestants(setting):
            learner = built(setting, contestant)
            found.append(Row(SEEN[setting], contestant.name, repr(learner), contestant.promise, *proved(learner)))
    for noise in (hn.GammaNoise(), hn.GaussianNoise()):
        learner = hn.Convex(hn.Ball(3), 1.0, noise, hn.Horizon(ROUNDS), smooth=0.0)
        words = "linear losses of any sign; first-order for other losses, with loss_bound"
        found.append(Row(SEEN["convex"], f"Convex, {type(noise).__name__}", repr(learner), words, *proved(learner)))
    newton = "(d/(2c)) (1 + ln(1 + c^2 r^2 G/d^2)); order d log L* for exp-concave losses"
    descents = (
        (hn.OnlineGradientDescent(hn.Ball(3), 1.0), "O(sqrt T)"),
        (hn.ExponentiatedGradient(hn.Simplex(N), 1.0), "O(sqrt T)"),
        (
            hn.OptimisticDescent(hn.Ball(3), 1.0),
            "2 sqrt(2) r sqrt(Q + 4 beta^2), Q the squared errors of the predictions",
        ),
        (hn.SmoothDescent(hn.Ball(3), 1.0, 1.0), "8 H r^2 + sqrt(64 H^2 r^4 + 16 H r^2 L*) for smooth losses >= 0"),
        (hn.OnlineNewton(hn.Ball(3), 1.0, 0.5, 1.0), newton),
    )
    for learner, words in descents:
        found.append(Row(SEEN["convex"], type(learner).__name__, repr(learner), words, *proved(learner)))
    words = "v ln(T)/eta + k eta d^2 B^2 T + 2 beta r; observes only the loss of its move"
    barrier = hn.BarrierBandit(hn.Ball(3), 1.0, ROUNDS)
    found.append(Row(SEEN["convex"], "BarrierBandit", repr(barrier), words, *proved(barrier)))
    return found


def cell(text: str) -> str:
    """Return the text, escaped for a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


def first_table() -> str:
    """Return the table of default learners, by feedback."""
    lines = [
        "| feedback of a round | learner | bound | against | contents of its certificate |",
        "|---|---|---|---|---|",
    ]
    for setting, seen in SEEN.items():
        bound, against = proved(written(setting))
        code = WRITTEN[setting][0].format(n="n", experts="experts", rounds="T")
        lines.append(f"| **{seen}** | `{code}` | {bound} | {cell(against)} | {certified(setting)} |")
    return "\n".join(lines)


def needs_table() -> str:
    """Return the table of further requirements."""
    lines = ["| requirement | learner | bound | against |", "|---|---|---|---|"]
    for need in NEEDS:
        bound, against = proved(need.learner(), **need.asked)
        lines.append(f"| {need.need} | `{need.code}` | {bound} | {cell(against)} |")
    return "\n".join(lines)


def whole_table() -> str:
    """Return the table of all learners, by feedback."""
    lines: list[str] = []
    for seen in dict.fromkeys(row.seen for row in rows()):
        lines += ["", f"## Feedback: {seen}", "", "| learner | guarantee | bound | against |", "|---|---|---|---|"]
        for row in rows():
            if row.seen == seen:
                lines.append(f"| {row.name} | {cell(row.promise)} | {row.bound} | {cell(row.against)} |")
    return "\n".join(lines)
