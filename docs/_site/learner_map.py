"""Which learner? A map made of the package's own tables: who plays in each setting, what is proved, against whom.

`benchmarks.tournament.field` has the learners and their guarantees in words; the number and the adversary come from the
learner itself, so the map cannot say what the code does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import hannan as hn
from benchmarks.tournament.field import contestants
from benchmarks.tournament.rules import SETTINGS
from hannan.saving.formatting import ceiling

#: The size for which bounds are shown.
N, EXPERTS, ROUNDS = 8, 16, 10_000

SEEN = {
    "experts": "the loss of every choice",
    "bandit": "the loss of your own choice only",
    "expert_bandit": "advice of several experts first, then the loss of your own action",
    "combinatorial": "the losses of the parts of a decision (paths, assignments, so many out of n)",
    "convex": "a convex loss function on a set of points",
}


class Row(NamedTuple):
    """A learner: what you see, its name, its code, what it promises in words, its bound or why none, against whom."""

    seen: str
    name: str
    code: str
    promise: str
    bound: str
    against: str


class Need(NamedTuple):
    """Something that a plain learner does not cover, and what does."""

    need: str
    code: str
    learner: Callable[[], Any]
    asked: dict[str, Any]


NEEDS = (
    Need("losses may answer your moves", "hn.exp3_ix(n, rounds)", lambda: hn.exp3_ix(N, ROUNDS), {"against": "any"}),
    Need("one run must be safe, with probability", "hn.exp3_ix(n, rounds)", lambda: hn.exp3_ix(N, ROUNDS),
         {"delta": 0.05}),
    Need("the number of rounds is known, own loss seen", "hn.Bandit(n, tuning=hn.Horizon(rounds))",
         lambda: hn.Bandit(N, tuning=hn.Horizon(ROUNDS)), {}),
    Need("feedback is late, by any delay (bound: each loss 10 rounds late)", "hn.TsallisShannon(n)",
         lambda: hn.TsallisShannon(N), {"missing": 10 * ROUNDS}),
    Need("clicks are rare", "hn.LBInf(n)", lambda: hn.LBInf(N), {}),
    Need("the best choice changes", "hn.fixed_share(n, rounds, switches=9)", lambda: hn.fixed_share(N, ROUNDS, 9), {}),
    Need("the best choice changes, own loss seen", "hn.exp3_s(n, rounds, switches=9)",
         lambda: hn.exp3_s(N, ROUNDS, 9), {}),
    Need("nobody knows the range of the losses", "hn.AdaHedge(n)", lambda: hn.AdaHedge(N), {}),
    Need("losses are i.i.d., and nothing else", "hn.Thompson(n)", lambda: hn.Thompson(N), {}),
    Need("moves must hide each single loss", 'hn.Convex(domain, lipschitz, guarantee="privacy", ...)',
         lambda: hn.Convex(hn.Ball(3), 1.0, tuning=hn.Horizon(ROUNDS), smooth=0.0, guarantee="privacy"), {}),
)  # fmt: skip


#: The first learner of each setting as one writes it, and what it is told after a move at play.
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
#: Lines of a certificate, in words.
CERTIFIED = {
    "bound": "bound",
    "regret": "regret itself",
    "estimated regret": "regret, estimated",
    "stability": "stability",
}


def built(setting: str, contestant: Any) -> Any:
    """The learner of a contestant, at the size of the map."""
    if setting == "combinatorial":
        return contestant.build(hn.MSets(N, 2), ROUNDS)
    if setting == "expert_bandit":
        return contestant.build(N, EXPERTS, ROUNDS)
    return contestant.build(N, ROUNDS)


def proved(learner: Any, **asked: Any) -> tuple[str, str]:
    """(bound, against whom), or (no number, the reason).

    >>> proved(hn.Experts(8, hn.Entropy(), hn.Horizon(10_000)))
    ('102', 'any losses')
    """
    try:
        bound = learner.bound(rounds=ROUNDS, **asked)
    except ValueError as reason:
        return "withheld", str(reason)
    return ceiling(bound.value), f"{'i.i.d.' if bound.against == 'iid' else bound.against} losses"


def written(setting: str) -> Any:
    """The first learner of a setting.

    >>> written("experts")
    Experts(8, smoothing=Exponential(), tuning=SelfConfident(rounds=None))
    """
    return eval(WRITTEN[setting][0].format(n=N, experts=EXPERTS, rounds=ROUNDS), {"hn": hn})


def certified(setting: str) -> str:
    """What its certificate has, after a round.

    >>> certified("bandit")
    'bound; regret, estimated; stability'
    """
    player = written(setting).start(seed=0)
    player.observe(*WRITTEN[setting][1](player))
    lines = {name for name, _ in player.certificate().rows()}
    return "; ".join(words for name, words in CERTIFIED.items() if name in lines)


def rows() -> list[Row]:
    """Every learner of every setting."""
    found = []
    for setting in SETTINGS:
        for contestant in contestants(setting):
            learner = built(setting, contestant)
            found.append(Row(SEEN[setting], contestant.name, repr(learner), contestant.promise, *proved(learner)))
    for noise in (hn.GammaNoise(), hn.GaussianNoise()):
        learner = hn.Convex(hn.Ball(3), 1.0, noise, hn.Horizon(ROUNDS), smooth=0.0)
        words = "any sign, linear; other losses, first order, with loss_bound"
        found.append(Row(SEEN["convex"], f"Convex, {type(noise).__name__}", repr(learner), words, *proved(learner)))
    for learner in (hn.OnlineGradientDescent(hn.Ball(3), 1.0), hn.ExponentiatedGradient(hn.Simplex(N), 1.0)):
        found.append(Row(SEEN["convex"], type(learner).__name__, repr(learner), "O(sqrt T)", *proved(learner)))
    return found


def cell(text: str) -> str:
    """Words in a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


def first_table() -> str:
    """What do you see -> the default, and what it certifies."""
    told = ["| you see each round | play | bound | against | its certificate has |", "|---|---|---|---|---|"]
    for setting, seen in SEEN.items():
        bound, against = proved(written(setting))
        code = WRITTEN[setting][0].format(n="n", experts="experts", rounds="T")
        told.append(f"| **{seen}** | `{code}` | {bound} | {cell(against)} | {certified(setting)} |")
    return "\n".join(told)


def needs_table() -> str:
    """Needs that a default does not cover."""
    told = ["| and you need | play | bound | against |", "|---|---|---|---|"]
    for need in NEEDS:
        bound, against = proved(need.learner(), **need.asked)
        told.append(f"| {need.need} | `{need.code}` | {bound} | {cell(against)} |")
    return "\n".join(told)


def whole_table() -> str:
    """Everybody, setting by setting."""
    told: list[str] = []
    for seen in dict.fromkeys(row.seen for row in rows()):
        told += ["", f"### You see {seen}", "", "| learner | promise | bound | against |", "|---|---|---|---|"]
        for row in rows():
            if row.seen == seen:
                told.append(f"| {row.name} | {cell(row.promise)} | {row.bound} | {cell(row.against)} |")
    return "\n".join(told)
