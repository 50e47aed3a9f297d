"""Closing the books of a table: from rows at play to a summary."""

from __future__ import annotations

import numpy as np

from hannan.refusals import Array
from hannan.tables.combine.hindsight import Oracle
from hannan.tables.combine.quantiled import Quantiled
from hannan.tables.combine.rows import CURVES, MARKS, Rows
from hannan.tables.combine.summary import TOLD, Curves, Expert, Summary


def summarise(
    rows: Rows,
    oracle: Oracle,
    median: float = float("nan"),
    course: Array | None = None,
    quantiles: Quantiled | None = None,
) -> Summary:
    """Of rows that are closed: `median` is the loss of the experts' median, `course` the cumulative losses of the
    oracle's combination over the settled rows in order."""
    rows.close()
    mixer, told = rows.mixer, rows.mixer.promises()
    losses, beside, awake = mixer.losses, mixer.beside, np.asarray(mixer.awake).astype(np.int64)
    n = len(rows.names)
    p = rows.combiner.weights()
    shown = np.arange(n)
    ahead = np.where(awake > 0, beside - losses, -np.inf)
    if n > TOLD:
        shown = np.sort(np.argpartition(-ahead, TOLD)[:TOLD])
    columns = [column[shown].tolist() for column in (awake, losses, beside, p)]
    sums = zip([rows.names[i] for i in shown.tolist()], *columns, strict=True)
    points = rows.points()
    marks = points[:, :MARKS] if len(points) else np.empty((0, MARKS))
    wide = n if n <= CURVES and len(points) else 0
    each = [points[:, MARKS + k * wide : MARKS + (k + 1) * wide] for k in range(3)]
    certificate = mixer.certificate()
    regret = float(ahead.max()) if (awake > 0).any() else 0.0
    own = float(told.realised[int(np.argmax(ahead))]) if certificate is None else (certificate.regret or 0.0)
    at = rows.trace.rows()
    settled = marks[:, 0].astype(int)
    best = np.full(len(at), np.nan)
    if course is not None and rows.late == 0:
        best = np.where(settled > 0, course[np.maximum(settled, 1) - 1], 0.0) if len(at) else best
    return Summary(
        loss=rows.loss.name,
        convex=rows.loss.convex,
        learner=repr(rows.learner),
        answered=rows.answered,
        settled=rows.settled,
        waiting=rows.waiting,
        late=rows.late,
        mix_loss=float(mixer.mixture),
        own_loss=float(mixer.expected) if mixer.draws else None,
        mean_loss=float(mixer.mean_loss),
        median_loss=median,
        n=n,
        sleepers=bool((awake < rows.settled).any()),
        experts=tuple(Expert(name, count, loss, mix, weight) for name, count, loss, mix, weight in sums),
        names=tuple(rows.names),
        regret=regret,
        own_regret=own,
        oracle=oracle,
        promises=told,
        certificate=certificate,
        curves=Curves(
            rows=at,
            mix=marks[:, 1],
            regret=marks[:, 2],
            own_regret=marks[:, 3],
            bound=marks[:, 4],
            weights=each[0],
            experts=each[1],
            beside=each[2],
            mean=marks[:, 5],
            best=best,
            times=tuple(rows.times.get(int(row), "") for row in at) if any(rows.times.values()) else (),
        ),
        forecasts=rows.forecasts(),
        quantiles=quantiles,
        left_out=rows.left_out,
    )
