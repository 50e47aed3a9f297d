"""Against whom a bound holds: the words for it, and the sentence that is printed.

    any        losses may depend on past moves, realised losses; so also fixed in advance
    oblivious  losses (and sets of available arms, and advice) fixed before the game; so also drawn from one law
    iid        losses drawn independently from one law

A bound against any losses is one against oblivious losses, and that one against i.i.d. losses.
"""

from __future__ import annotations

from typing import Literal, get_args

Against = Literal["any", "oblivious", "iid"]
#: Of whom a bound is asked: a word as above, to be checked, or nothing.
Whom = str | None

#: What is proved: the whole proof is in docs/mathematics.md or docs/proofs; a published theorem is cited and its
#: proof not repeated; or one step of a proof was only checked numerically.
Proved = Literal["whole", "published", "numerical"]

#: Whose regret the number bounds, and in which sense.
#:   run      every run: no regret is larger
#:   moves    the moves themselves, which are not random: every sequence
#:   mean     the mean play <p, l>, every sequence; the moves drawn, in expectation
#:   draws    the moves drawn, in expectation over fresh noise
#:   arm      the moves drawn, in expectation; against losses that depend on moves only one arm named in advance
#:   expert   the same for one expert; path, for one path of arms; map, for one map from keys to arms
#:   available, available_map  as arm and map, each arm over the rounds in which it was available
#:   likely   this run, with the probability that the condition says
#:   kept     noise is kept and shows in moves: against losses that depend on them nothing is left
Sense = Literal[
    "run", "moves", "mean", "draws", "arm", "expert", "path", "map", "available", "available_map", "likely", "kept"
]

#: What a bound covers besides: losses that a learner begins with, at the cost of their spread.
Cover = Literal["prior"]

#: Assumption of a bound against an oblivious adversary.
FIXED_LOSSES = "if losses do not depend on your moves"
#: The same assumption if some arms were unavailable in some rounds.
FIXED_SETS = "if neither losses nor the set of available arms depends on your moves"
#: The same assumption if experts give advice: advice that follows the moves chooses the best expert by the draws.
FIXED_ADVICE = "if neither losses nor advice depends on your moves"
#: Restriction of bounds on an expectation whose proofs do not cover stopping times.
_WHEN = ", at a time fixed in advance"

_ANY: dict[str, str] = {
    "run": "on every run",
    "moves": "on every sequence, also if a loss is set in sight of the move",
    "mean": "of the mean play on every sequence; of moves drawn in expectation, also if losses depend on past moves",
    "draws": "in expectation, also if losses depend on past moves",
    "likely": "on a run, with the probability said, also if losses depend on past moves",
}
_LEFT: dict[str, str] = {
    "kept": "nothing is promised",
    "arm": "it bounds E[own loss - loss of any one arm named in advance]",
    "expert": "it bounds E[own loss - loss of any one expert named in advance]",
    "path": "it bounds E[own loss - loss of any one path named in advance]",
    "map": "it bounds E[own loss - loss of any one map key -> arm named in advance]",
    "available": "it bounds the pseudo-regret E[own loss - loss of any one arm named in advance], both over the rounds "
    "in which that arm was available",
    "available_map": "it bounds the pseudo-regret E[own loss - loss of any one map key -> arm named in advance], both "
    "over the rounds in which the arm of the key was available",
}
#: The sense of a bound if some arms were unavailable in some rounds.
_RESTRICTED: dict[str, Sense] = {"arm": "available", "map": "available_map"}
#: The comparator of a bound that holds for one comparator named in advance.
_NAMED: dict[str, str] = {"arm": "arm", "available": "arm", "expert": "expert", "path": "path", "map": "map key -> arm"}
_HOLDS_FOR: dict[str, tuple[str, ...]] = {
    "any": ("any", "oblivious", "iid"),
    "oblivious": ("oblivious", "iid"),
    "iid": ("iid",),
}


def covers(against: str, asked: str) -> bool:
    """Whether a bound against the one is a bound against the other.

    >>> covers("any", "oblivious"), covers("oblivious", "any")
    (True, False)
    """
    return asked in _HOLDS_FOR[against]


def restricted(sense: Sense | None) -> Sense | None:
    """Return the sense of a bound whose arms were not available in all rounds.

    >>> restricted("arm"), restricted("mean")
    ('available', 'mean')
    """
    return sense if sense is None else _RESTRICTED.get(sense, sense)


def best_loss_condition(at_most: float, gains: bool, against: str, sense: str) -> str:
    """Return the condition of a bound that supposes a best loss (or gain).

    The bound is on an expectation, so the condition must hold on every run. If losses depend on the moves, a bandit's
    proof uses the expected loss of the comparator instead.

    >>> best_loss_condition(100.0, False, "any", "mean")
    'if the best loss L* <= 100 on every run'
    """
    best, sign = ("the best gain G*", ">=") if gains else ("the best loss L*", "<=")
    said = f"if {best} {sign} {at_most:.15g} on every run"
    if against == "any" or sense not in _NAMED:
        return said
    expected = f"the expected {'gain' if gains else 'loss'} of one {_NAMED[sense]} named in advance"
    what = "losses or advice depend" if sense == "expert" else "losses depend"
    return f"{said} (if {what} on your moves: if {expected} is {sign} {at_most:.15g})"


def checked(against: object) -> str:
    """One of the three words, or a refusal."""
    if against not in get_args(Against):
        raise ValueError(f'against must be "any", "oblivious" or "iid"; got {against!r}')
    return str(against)


def sentence(against: str, sense: str) -> str:
    """Of whom a bound holds, in words.

    >>> print(sentence("any", "draws"))
    any losses: in expectation, also if losses depend on past moves
    >>> print(sentence("oblivious", "kept"))
    oblivious losses: if losses do not depend on your moves, at a time fixed in advance; if they do, nothing is promised
    """
    if against == "any":
        return f"any losses: {_ANY.get(sense, _ANY['draws'])}"
    if against == "iid":
        return f"i.i.d. losses: if they are drawn independently from one law{_WHEN}; if not, nothing is promised"
    if sense not in _LEFT:
        return f"oblivious losses: {FIXED_LOSSES}"
    if sense == "expert" or sense in _RESTRICTED.values():
        fixed = FIXED_ADVICE if sense == "expert" else FIXED_SETS
        return f"oblivious losses: {fixed}{_WHEN}; otherwise {_LEFT[sense]}"
    return f"oblivious losses: {FIXED_LOSSES}{_WHEN}; if they do, {_LEFT[sense]}"
