"""Arms of a learner for the service: their decisions, probabilities and colors.

The color of an arm depends on its place among all arms that the learner has had, and on their names, so that the arm
keeps its color. An arm whose name contains a color word, such as "red" or "dark-blue", has that color. An arm without
such a word has a color that no earlier arm has, as long as there is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hannan import _engine
from hannan.serving import schemas
from hannan.serving.decisions import DecisionQueue
from hannan.serving.keys import ArmCounts, arms_of
from hannan.serving.stored_learner import StoredLearner

#: Colors of arms without a color word, in the order in which they are given.
PALETTE = ("blue", "orange", "green", "purple", "gold", "pink", "cyan", "gray")
#: Color of each word. A color has two shades on the page, such as "blue" and "blue2".
WORDS = {
    "blue": "blue", "navy": "blue", "indigo": "blue", "azure": "blue", "royalblue": "blue", "skyblue": "cyan",
    "orange": "orange", "coral": "orange", "tangerine": "orange", "darkorange": "orange",
    "green": "green", "lime": "green", "olive": "green", "emerald": "green", "mint": "green", "darkgreen": "green",
    "purple": "purple", "violet": "purple", "orchid": "purple", "lavender": "purple", "plum": "purple",
    "gold": "gold", "yellow": "gold", "amber": "gold", "khaki": "gold",
    "pink": "pink", "magenta": "pink", "fuchsia": "pink", "rose": "pink", "hotpink": "pink",
    "cyan": "cyan", "teal": "cyan", "aqua": "cyan", "turquoise": "cyan",
    "gray": "gray", "grey": "gray", "silver": "gray",
    "red": "red", "crimson": "red", "maroon": "red", "scarlet": "red", "ruby": "red", "darkred": "red",
    "brown": "brown", "chocolate": "brown", "tan": "brown", "sienna": "brown",
    "black": "black", "white": "white",
}  # fmt: skip
#: All colors that the style sheet of the page defines.
COLORS = (*PALETTE, "red", "brown", "black", "white")
_LETTERS = re.compile(r"[a-z]+")


def word_of(name: str) -> str | None:
    """Return the color of a name with exactly one color word, or None.

    >>> [word_of(name) for name in ("red", "banner-RED", "dark_blue", "reduced", "red or blue", "hero")]
    ['red', 'red', 'blue', None, None, None]
    """
    found = {WORDS[word] for word in _LETTERS.findall(name.casefold()) if word in WORDS}
    return found.pop() if len(found) == 1 else None


def colors(groups: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """Return the color of each arm, in the order in which the arms appeared; a group has those that appeared together.

    An arm is given by its names, the present one first. The color depends on the arm, on those before it and on those
    that appeared with it, all under their first names, so that a new arm and a new name change no other color.

    >>> colors([[["A"], ["red"], ["B"]]]), colors([[["A"], ["red"], ["B"]], [["blue"]]])
    (['blue', 'red', 'orange'], ['blue', 'red', 'orange', 'blue2'])
    >>> colors([[["A"], ["blue"]]]), colors([[["hero", "blue"], ["A"]]]), colors([[["orange", "A"], ["B"]]])
    (['orange', 'blue'], ['blue', 'orange'], ['orange2', 'orange'])
    """
    uses, first = dict.fromkeys(COLORS, 0), list[str]()
    for group in groups:
        words = [word_of(names[-1]) for names in group]
        given: list[str] = [color or "" for color in words]
        for place, color in enumerate(words):
            if color is not None:
                given[place] = _next(uses, color)
        for place, color in enumerate(words):
            if color is None:  # the least used color; of several, the first one
                given[place] = _next(uses, min(PALETTE, key=uses.__getitem__))
        first += given
    arms = [names for group in groups for names in group]
    found = list(first)
    for place, names in enumerate(arms):
        word = next((word for name in names if (word := word_of(name)) is not None), None)
        if word is not None and word != first[place].rstrip("2"):
            found[place] = f"{word}2" if uses[word] else word
    return found


def _next(uses: dict[str, int], color: str) -> str:
    uses[color] += 1
    return color if uses[color] % 2 else f"{color}2"


def of_learner(stored: StoredLearner) -> schemas.ArmList:
    """Return the arms of the current stage with the decisions of all keys. The caller holds the lock."""
    table = stored.evidence
    if table is None:
        return _listed(stored, None, None, None if stored.keys else stored.weights(), None)
    engine, counts = table.engine, dict[int, ArmCounts]()
    for place, arm in enumerate(table.arms):
        settled = int(engine.settled(place))
        total = float(stored.learner.in_units(engine.sum(place), settled))
        counts[arm] = ArmCounts(int(engine.drawn(place)), settled, total)
    weights = None if stored.keys else stored.weights()
    return _listed(stored, None, counts, weights, table.times.get(engine.began))


def of_key(queue: DecisionQueue, stored: StoredLearner, key: int | str, number: int, end: int) -> schemas.ArmList:
    """Return the arms with the decisions of one key, whose number is known, from the journal before `end`."""
    queue.journal.wait(end)
    found, since = queue.journal.read(lambda: arms_of(queue.backend, stored, number, end))
    with queue.lock:
        weights = [float(x) for x in _engine.next_weights(stored.keyed, number, stored.arms.mask)]
        return _listed(stored, key, dict(enumerate(_estimated(stored, one) for one in found)), weights, since)


def _estimated(stored: StoredLearner, counts: ArmCounts) -> ArmCounts:
    """Return counts of the journal with the estimated sum of the feedback, if the journal has randomized reports."""
    if stored.response is None:
        return counts
    middle = 0.5 * sum(stored.learner.loss_range) * counts.settled
    return counts._replace(total=middle + (counts.total - middle) * stored.response.factor)


def _listed(
    stored: StoredLearner,
    key: int | str | None,
    counts: dict[int, ArmCounts] | None,
    weights: Sequence[float] | None,
    since: float | None,
) -> schemas.ArmList:
    groups = stored.all_arms
    index = {names[0]: place for place, names in enumerate(names for group in groups for names in group)}
    shades, labels, available = colors(groups), stored.arms.labels, set(stored.arms.available)
    arms = []
    for arm in stored.arms.compared:
        place, told = index[str(labels[arm])], None if counts is None else counts.get(arm)
        arms.append(
            schemas.ArmAbout(
                arm=labels[arm],
                index=place,
                color=shades[place],
                available=arm in available,
                shown=None if told is None else told.shown,
                settled=None if told is None else told.settled,
                total=None if told is None else told.total,
                probability=None if weights is None else weights[arm],
            )
        )
    warning = stored.pending_warning()
    return schemas.ArmList(
        name=stored.name,
        key=key,
        learner=repr(stored.learner),
        gains=stored.learner.gains,
        loss_range=tuple(stored.learner.loss_range),
        wait=None if stored.expiry is None else stored.expiry.wait,
        default=None if stored.expiry is None else stored.expiry.default,
        keys=stored.keys,
        unkeyed=stored.drawn,
        pending=stored.open,
        stage=stored.stage.ordinal,
        since=since,
        arms=arms,
        privacy="" if stored.response is None else stored.learner.privacy().says,
        on_add=stored.arms.on_add,
        on_retire=stored.arms.on_retire,
        warnings=[warning] if warning else [],
    )
