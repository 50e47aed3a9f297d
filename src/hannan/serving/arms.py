"""Arms of a learner for the service: their decisions, probabilities and colors."""

from __future__ import annotations

from collections.abc import Sequence

from hannan import _engine
from hannan.serving import schemas
from hannan.serving.colors import colors
from hannan.serving.decisions import DecisionQueue
from hannan.serving.keys import ArmCounts, arms_of
from hannan.serving.stored_learner import StoredLearner


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
        return _listed(stored, key, dict(enumerate(found)), weights, since)


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
        warnings=[warning] if warning else [],
    )
