"""`hn.replay`: off-policy evaluation of learners on a log of decisions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from hannan import validation
from hannan.games.checkpoints import Trace
from hannan.learners.bandits import Bandit
from hannan.learners.expert_bandits import ExpertBandit
from hannan.saving.formatting import apart, counted, figure
from hannan.saving.result import Result, Shown, frame_of
from hannan.tables.learner import called, for_decisions
from hannan.tables.read.table import BadTable, clipped, log_roles, one_role
from hannan.tables.replay import anytime as at_all_times
from hannan.tables.replay.evaluated import Evaluated, Replayed, check_range, comparators, replay_page, spans
from hannan.tables.replay.items import ItemReplay as ItemReplay
from hannan.tables.replay.items import by_items
from hannan.tables.replay.log import (
    BERNSTEIN,
    LEARNED,
    LOGGED,
    MIN_ROWS,
    Estimate,
    Log,
    Scope,
    check_weights,
    estimates,
)
from hannan.tables.replay.policies import Policy
from hannan.tables.replay.policies import policies as own_policies
from hannan.tables.replay.policies import sums as policy_sums
from hannan.tables.write import kept
from hannan.validation import Array

#: Reasons why there is no estimate by replaying rows.
FIXED = "a fixed policy: it learns nothing, so no rows are replayed"
TOO_FEW = f"no replay estimate: fewer than {MIN_ROWS:g} rows were accepted"


@dataclass(frozen=True)
class Replay(Evaluated, Result):
    """Result of `hn.replay`: estimates for learners, for the logged policy and for each single action.

    Losses are means per row.

    Examples
    --------
    >>> import hannan as hn
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(2, size=2000)
    >>> told = hn.replay({"a": a, "l": (rng.random(2000) < np.array([0.2, 0.6])[a]).astype(float)}, "a", "l", runs=2)
    >>> told.rows, told.best_action.name
    (2000, '0')
    """

    def shown(self) -> Shown:
        """Return the estimates with their intervals, and the assumptions behind them.

        Returns
        -------
        Shown
            Lines that `print` writes.
        """
        word, level, best = "gain" if self.gains else "loss", f"{self.logged.level:.0%}", self.best_action
        table: list[tuple[Any, ...]] = [("the logged policy", "mean", *_numbers(self.logged), None)]
        if self.known:
            ranked = sorted(self.single, key=lambda one: -one.value if self.gains else one.value)
            table += [(f"always {clipped(one.name)}", "anytime", *_numbers(one), None) for one in ranked]
        else:
            table.append((f"always {clipped(best.name)}", "best in hindsight", *_numbers(best), None))
        rows = [("log", f"{counted(self.rows, 'row')}, {counted(len(self.actions), 'action')}, {self._kind}")]
        for one in self.learners:
            for e in one.estimates.values():  # `replay` uses only the accepted rows, the other estimates use weights
                table.append((one.name, e.name, *_numbers(e), one.accepted if e.name == "replay" else one.effective))
            if one.fixed:
                rows.append((one.name, FIXED))
            elif "replay" not in one.estimates and not self.known:
                rows.append((one.name, TOO_FEW))
        rows += self._differences(best.name)
        told = [self.logged, best, *(e for one in self.learners for e in one.estimates.values())]
        methods = [method.partition(": ") for method in dict.fromkeys(e.method for e in told)]
        assumptions = [("logged policy", LOGGED.format(word=word)), *((name, text) for name, _, text in methods)]
        assumptions += [("log", self.condition)] if self.condition else []
        if self.known:
            assumptions += [
                ("probabilities", at_all_times.KNOWN[self.known]),
                ("differences", at_all_times.DIFFERENCES),
            ]
        heads = ("policy", "estimate", f"mean {word}", f"{level} from", "to", "effective rows")
        return Shown(self._title(word, level), rows, heads, table, assumptions)

    def _differences(self, best: str) -> list[tuple[str, str]]:
        """Return a row per action with its distance from the best action, if intervals hold at all times."""
        return [
            (f"{clipped(one.action)} - {clipped(one.over)}", f"{figure(one.low)} to {figure(one.high)}")
            for one in self.leads
            if one.action == best
        ]

    @property
    def _kind(self) -> str:
        return "with propensities" if self.propensities else "uniform logging policy"

    def _title(self, word: str, level: str) -> str:
        logged = f"{figure(self.logged.value)} for the logged policy"
        kind = "anytime" if self.known else "dr"
        if len(self.learners) != 1 or kind not in self.learners[0].estimates:
            return f"Mean {word} per row: {logged}; {counted(len(self.learners), 'learner')} evaluated"
        name, e = self.learners[0].name, self.learners[0].estimates[kind]
        low, high = (figure(x) for x in e.interval)
        return f"Mean {word} per row: {figure(e.value)} for {name} ({level} interval [{low}, {high}], {kind}), {logged}"

    def plot(self) -> Any:
        """Return an Altair chart with one dot and interval per learner and action, the best first.

        Returns
        -------
        altair.Chart
            The chart.
        """
        return spans(self).chart(460)

    def to_frame(self) -> Any:
        """Return a pandas (else polars) frame: who, estimate, value, low, high, effective rows.

        Returns
        -------
        DataFrame
            One row per estimate.
        """
        shown = self.shown()
        names = ("who", "estimate", "value", "low", "high", "effective_rows")
        return frame_of({name: [row[k] for row in shown.table] for k, name in enumerate(names)})

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write summary.json and (with the extra [report]) index.html into a folder, atomically.

        Parameters
        ----------
        folder : str or path
            Folder to write, which is created if it does not exist.

        Returns
        -------
        pathlib.Path
            The folder.
        """
        return kept(folder, self.to_dict(), lambda: replay_page(self))


def _numbers(estimate: Estimate) -> tuple[float, float, float]:
    return (estimate.value, *estimate.interval)


def evaluate(
    log: Log, learners: Sequence[Any], runs: int = 5, seed: int = 0, level: float = 0.95, *, names: Sequence[str] = (),
    span: tuple[float, float] = (0.0, 1.0), gains: bool = False, anytime: bool = False,
) -> Replay:  # fmt: skip
    """Replay learners (of `for_decisions`) and policies on the log; `names` are the names of the learners in
    results.
    """
    runs = validation.count(runs, "runs")
    level = validation.between(level, 0.0, 1.0, "level", "()")
    if not isinstance(anytime, bool):
        raise ValueError(f"anytime must be True or False; got {anytime!r}")
    if log.chances is not None and not anytime:
        raise ValueError("probabilities (--probabilities) requires anytime=True (--anytime); got anytime=False")
    log.check(span, anytime)
    with np.errstate(over="ignore", invalid="ignore"):
        if anytime:
            return _at_all_times(log, learners, runs, seed, level, names=names, span=span, gains=gains)
        return _evaluated(log, learners, runs, seed, level, names=names, span=span, gains=gains)


def _evaluated(
    log: Log, learners: Sequence[Any], runs: int, seed: int, level: float, *, names: Sequence[str],
    span: tuple[float, float], gains: bool,
) -> Replay:  # fmt: skip
    known = list(names) if len(names) == len(learners) else apart([repr(one) for one in learners])
    method, share = (BERNSTEIN, 1.0) if log.smallest is None else (log.smallest.method, log.smallest.share)
    scope = Scope(len(log), span, 1.0 / log.floor, level, method, share)
    logged, single = comparators(log, scope)
    played = [_replayed(log, name, one, runs, seed, scope) for name, one in zip(known, learners, strict=True)]
    played += [_policy(log, policy, scope) for policy in log.policies]
    told = [logged, *single, *(estimate for one in played for estimate in one.estimates.values())]
    if not all(np.isfinite((estimate.value, estimate.error)).all() for estimate in told):
        raise BadTable(f"{log.source}: losses over propensities must have finite squares; theirs overflow")
    return Replay(
        rows=len(log),
        actions=tuple(log.labels),
        propensities=log.has_propensities,
        gains=gains,
        logged=logged,
        single=single,
        learners=tuple(played),
        runs=runs,
        seed=seed,
        condition=_condition(log),
        missing=log.missing.to_dict(),
        smallest=None if log.smallest is None else {"column": log.smallest.column, "value": log.smallest.minimum},
    )


def _at_all_times(
    log: Log, learners: Sequence[Any], runs: int, seed: int, level: float, *, names: Sequence[str],
    span: tuple[float, float], gains: bool,
) -> Replay:  # fmt: skip
    """Evaluate with intervals that hold at all times: docs/proofs/evidence.md, section 3."""
    shown = list(names) if len(names) == len(learners) else apart([repr(one) for one in learners])
    actions, losses, odds = (
        np.concatenate(column) for column in zip(*((a, x, p) for a, x, p, _ in log.blocks()), strict=True)
    )
    low, width = span[0], span[1] - span[0]
    check_range(log, losses, span, 1)
    known = log.known()
    lower = (
        np.zeros((len(log), len(log.labels))) if known is None else np.nan_to_num(known) * (1.0 - at_all_times.ROUNDING)
    )
    walked = [_walked(log, one, seed, runs) for one in learners]
    fixed = [np.concatenate([q for *_, q in log.played_by(one)]) for one in log.policies]
    capitals = at_all_times.Capitals(len(log.labels), len(walked) + len(fixed))
    rows = at_all_times.Rows(actions, (losses - low) / width, odds, lower)
    capitals.add(rows, [*(plays for plays, _ in walked), *fixed])
    miss, k = 1.0 - level, len(log.labels)

    def estimate(name: str, capital: at_all_times.Capital, miss: float) -> Estimate:
        first, last = (low + width * end for end in capital.interval(miss))
        value = min(max(low + width * capital.estimate(), first), last)
        return Estimate(name, value, 0.0, (first, last), level, at_all_times.ANYTIME)

    def played(i: int, name: str, text: str, plays: Array, accepted: float, is_fixed: bool) -> Replayed:
        weights = plays[np.arange(len(log)), actions] / odds
        effective = float(weights.sum() ** 2 / max((weights**2).sum(), 1e-300))
        told = {"anytime": estimate("anytime", capitals.policies[i], miss)}
        none = np.zeros((0, 2))
        return Replayed(name, text, told, accepted, effective, rows=none[:, 0], curve=none, fixed=is_fixed)

    found = [
        played(i, name, repr(one), plays, accepted, False)
        for i, (name, one, (plays, accepted)) in enumerate(zip(shown, learners, walked, strict=True))
    ]
    found += [
        played(len(walked) + i, one.name, _columns(one), plays, 0.0, True)
        for i, (one, plays) in enumerate(zip(log.policies, fixed, strict=True))
    ]
    return Replay(
        rows=len(log),
        actions=tuple(log.labels),
        propensities=log.has_propensities,
        gains=gains,
        logged=estimate("logged", capitals.logged, miss),
        single=tuple(estimate(log.labels[a], capitals.actions[a], miss / k) for a in range(k)),
        learners=tuple(found),
        runs=runs,
        seed=seed,
        condition=_condition(log),
        missing=log.missing.to_dict(),
        leads=at_all_times.leads(capitals, log.labels, miss, width, gains),
        known="drawn" if known is None else "smallest" if log.has_propensities and log.chances is None else "all",
    )


def _walked(log: Log, learner: Any, seed: int, runs: int) -> tuple[Array, float]:
    """Return the mean probabilities of a learner in each row, and the mean number of accepted rows, over its runs."""
    plays = np.zeros((len(log), len(log.labels)))
    accepted = [_walk(log, learner, seed, run, None, plays)[9] for run in range(runs)]
    return plays / runs, float(np.mean(accepted))


def _columns(policy: Policy) -> str:
    return f"probabilities from {', '.join(policy.columns)}"


def _condition(log: Log) -> str:
    """Return the conditions of context experts, of rules and policies, and of empty losses."""
    said = [LEARNED] * log.learns
    if log.told:
        names = ", ".join(log.told[:4]) + (f" and {len(log.told) - 4} more" if len(log.told) > 4 else "")
        said.append(f"{names} must not have been fitted to the losses of this log, or the estimates are too good")
    if log.missing.condition:
        said.append(log.missing.condition)
    return "; ".join(said)


def _replayed(log: Log, name: str, learner: Bandit | ExpertBandit, runs: int, seed: int, scope: Scope) -> Replayed:
    every, effective = [], []
    trace = Trace(256)
    for run in range(runs):
        sums = _walk(log, learner, seed, run, trace if run == 0 else None)
        effective.append(check_weights(sums, repr(learner)))
        every.append(sums)
    sums = np.mean(every, axis=0)
    return Replayed(
        name=name,
        learner=repr(learner),
        estimates=estimates(sums, scope),
        accepted=float(sums[9]),
        effective=float(np.mean(effective)),
        rows=trace.rows(),
        curve=trace.points(),
    )


def _policy(log: Log, policy: Policy, scope: Scope) -> Replayed:
    sums = policy_sums(log.played_by(policy), len(log.labels), scope.span)
    effective = check_weights(sums, f"policy {policy.name!r}")
    return Replayed(
        name=policy.name,
        learner=_columns(policy),
        estimates=estimates(sums, scope),
        accepted=0.0,
        effective=effective,
        rows=np.zeros(0),
        curve=np.zeros((0, 2)),
        fixed=True,
    )


def _walk(
    log: Log, learner: Bandit | ExpertBandit, seed: int, run: int, trace: Trace | None, plays: Array | None = None
) -> Array:
    """Return the sums of one run over the whole log; the learner's probabilities in each row are added to `plays`."""
    from hannan._engine import LoggedRows, replay_rows
    from hannan.mathematics import streams

    player = learner.start(0)
    player._set_words(streams.words(seed, run), player._words[1])
    coins = streams.words(seed, run, 2)
    model, sums = np.zeros((3, len(log.labels))), np.zeros(15)
    advised = isinstance(learner, ExpertBandit)
    first = 0
    if trace is not None:
        trace.expect(0, len(log))
    for actions, losses, odds, advice in log.blocks():
        begun = 0
        while begun < len(actions):
            end = len(actions)
            due = [] if trace is None else trace.due(first + begun, end - begun).tolist()
            if due:
                end = due[0] - first
            part = slice(begun, end)
            heard = advice[part] if advised else None
            rows = LoggedRows(actions[part], losses[part], odds[part], heard, log.floor)
            added = None if plays is None else plays[first + begun : first + end]
            bad, failed = replay_rows(player, rows, coins, model, sums, added)
            if failed:
                raise player._failed()
            if bad >= 0:
                raise _bad(log, learner, int(bad), first + begun, losses[part])
            begun = end
            if trace is not None and due:
                trace.add(first + begun, np.array([sums[7] / sums[0], sums[10] / max(sums[9], 1.0)]))
        first += len(actions)
    return sums


def _bad(log: Log, learner: Any, bad: int, first: int, losses: Array) -> Exception:
    low, high = learner.loss_range
    return BadTable(
        f"{log.source}, row {log.missing.row(first + bad)}: a loss must be in the stated range {low:g}:{high:g}; "
        f"got {losses[bad]:g}"
    )


@overload
def replay(
    log: Any, action: str, loss: str, propensity: str, *, by: Literal["items"], slate: str,
    slates: Mapping[str, Sequence[Any]] | None = None, loss_range: tuple[float, float] = (0.0, 1.0),
    gains: bool = False, level: float = 0.95, missing: float | None = None,
) -> ItemReplay: ...  # fmt: skip
@overload
def replay(
    log: Any, action: str, loss: str, propensity: str | None = None, advice: Sequence[str] = (), learner: Any = None, *,
    actions: Sequence[Any] = (), contexts: Sequence[str] = (), policies: Mapping[str, Any] | None = None,
    loss_range: tuple[float, float] = (0.0, 1.0), gains: bool = False, runs: int = 5, seed: int = 0,
    level: float = 0.95, missing: float | str | None = None, smallest: str | None = None, by: Literal["rows"] = "rows",
) -> Replay: ...  # fmt: skip
def replay(
    log: Any,
    action: str,
    loss: str,
    propensity: str | None = None,
    advice: Sequence[str] = (),
    learner: Any = None,
    *,
    actions: Sequence[Any] = (),
    contexts: Sequence[str] = (),
    policies: Mapping[str, Any] | None = None,
    loss_range: tuple[float, float] = (0.0, 1.0),
    gains: bool = False,
    runs: int = 5,
    seed: int = 0,
    level: float = 0.95,
    missing: float | str | None = None,
    smallest: str | None = None,
    anytime: bool = False,
    probabilities: Mapping[str, str] | None = None,
    by: Literal["rows", "items"] = "rows",
    slate: str | None = None,
    slates: Mapping[str, Sequence[Any]] | None = None,
) -> Replay | ItemReplay:
    """Estimate the loss that learners would have had on logged decisions, with confidence intervals.

    Parameters
    ----------
    log : DataFrame or mapping
        Log with one row per decision.
    action, loss : str
        Columns of the logged action and of its loss (with `gains`, its reward).
    propensity : str, optional
        Column of the probability with which the action was drawn. Default: the logging policy was uniform, which is
        tested.
    advice : sequence of str, optional
        Columns with the action that each expert recommends; an `ExpertBandit` is evaluated instead of a `Bandit`.
    learner : Learner, str or list, optional
        Learners or their names (default: `Bandit`, or `ExpertBandit` if there are experts).
    actions : sequence, optional
        All actions (default: those in the log).
    contexts : sequence of str, optional
        Context columns, such as the device. Each becomes an expert that recommends the best action so far in that
        context, from earlier rows only.
    policies : mapping, optional
        Fixed policies, {name: {action: column of its probability}}.
    loss_range : tuple of float, default (0, 1)
        Smallest and largest loss.
    gains : bool, default False
        Values are rewards (larger is better).
    runs : int, default 5
        Number of replays per learner.
    seed : int, default 0
        Random seed.
    level : float, default 0.95
        Level of the intervals.
    missing : float or "drop", optional
        Meaning of empty losses: a number, such as 0 for "no click", or "drop" to leave out their rows. Without it,
        empty losses raise an error.
    smallest : str, optional
        Column of the smallest probability of any action in each row, such as `smallest_probability` in the log of a
        store. It verifies the condition of the intervals.
    anytime : bool, default False
        Compute intervals that hold for all numbers of rows simultaneously, and differences of all actions. They need
        no condition on the smallest probability, and are wider than intervals for a single look.
    probabilities : mapping, optional
        {action: column of the probability with which it could be drawn}, as in `store.log(name, weights=True)`. The
        intervals of `anytime` are then narrower. Rows with empty cells in all columns have unknown probabilities.
    by : {"rows", "items"}, default "rows"
        "items": the log has one row per item of a slate, `propensity` is the inclusion probability of the item
        (`move.probabilities`), and the result has the mean loss of each item and of each slate in `slates`.
    slate : str, optional
        Column with the number of the slate, required with by="items".
    slates : mapping, optional
        Fixed slates to evaluate with by="items", {name: [items]}.

    Returns
    -------
    Replay or ItemReplay
        Estimates, intervals, methods and conditions.

    Raises
    ------
    NoSupport
        If an action had probability 0 in some rows.
    BadTable
        If the log is invalid or does not support the estimates; the message states the reason.
    ValueError
        If a parameter is invalid.

    Notes
    -----
    Without `anytime` all intervals assume that the number of rows was fixed in advance. If no propensity changes and
    losses are 0 or 1, the intervals of the logged policy and of the single actions are exact for independent rows of
    one distribution. All others are empirical Bernstein intervals. They hold if no action ever had a smaller
    probability than the smallest propensity in the log, which is assumed unless `smallest` verifies it. The estimate
    of the logged policy is of the mean, over the rows of this log, of the expected loss given earlier rows. The
    intervals of the single actions hold simultaneously. Rules of advice and policies must not have been fitted to the
    losses of this log.

    With `anytime` the estimates are those of docs/proofs/evidence.md, section 3: the log may be stopped because of what
    it shows. Rows must be in the order of the draws. The intervals of the single actions hold simultaneously, and so
    do all differences. Actions that could not be drawn in some rows are allowed if `probabilities` states it.

    With "drop", the estimates assume that whether a row has its loss depends neither on that loss nor on the action.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(3, size=3000)
    >>> log = {"a": a, "l": (rng.random(3000) < np.array([0.2, 0.5, 0.8])[a]).astype(float)}
    >>> told = replay(log, "a", "l", runs=2)
    >>> told.best_action.name, told.learners[0].estimates["dr"].value < told.logged.value
    ('0', True)
    """
    from hannan.tables.read.frames import columns_of, numbers_of, text_of

    if by not in ("rows", "items"):
        raise ValueError(f'by must be "rows" or "items"; got {by!r}')
    if by == "items":
        others = {"advice": advice, "learner": learner, "actions": actions, "contexts": contexts, "policies": policies,
                  "smallest": smallest, "anytime": anytime, "probabilities": probabilities}  # fmt: skip
        given = next((name for name, value in others.items() if value), None)
        if given is not None:
            raise ValueError(f'{given} is not available with by="items"; got {given}={validation.brief(others[given])}')
        return by_items(
            log, action, loss, propensity, slate, slates=slates, loss_range=loss_range, gains=gains, level=level,
            missing=missing,
        )  # fmt: skip
    if slate is not None or slates:
        raise ValueError(f'slate and slates need by="items"; got by={by!r}')
    log_roles(action, loss, propensity, advice, contexts, smallest)
    stated = [str(label) for label in actions]
    wanted = own_policies(policies, stated)
    chances = None if probabilities is None else own_policies({"the log": dict(probabilities)})[0]
    numbers = dict.fromkeys(column for policy in wanted for column in policy.columns)
    one_role([("the action", action), ("the loss", loss), *(("a probability", name) for name in numbers)])
    optional = [name for name in (propensity, smallest) if name is not None] + list(chances.columns if chances else ())
    asked = (action, loss, *optional, *advice, *contexts, *numbers)
    columns = columns_of(log, tuple(dict.fromkeys(asked)))
    read = Log(
        list(advice), stated, contexts=contexts, policies=wanted, gains=gains, missing=missing, smallest=smallest,
        chances=chances,
    )  # fmt: skip
    try:
        losses = numbers_of(columns[loss], loss)
        odds = None if propensity is None else numbers_of(columns[propensity], propensity, complete=True)
        read.add(
            text_of(columns[action]),
            losses,
            odds,
            [text_of(columns[name]) for name in advice],
            1,
            contexts=[text_of(columns[name]) for name in contexts],
            probabilities=[
                np.column_stack([numbers_of(columns[c], c, complete=True) for c in policy.columns]) for policy in wanted
            ],
            smallest=None if smallest is None else numbers_of(columns[smallest], smallest),
            chances=None if chances is None else np.column_stack([numbers_of(columns[c], c) for c in chances.columns]),
        )
        chosen = for_decisions(learner, len(read.labels), len(read.experts), loss_range, gains, len(read))
        span, earned = (chosen[0].loss_range, chosen[0].gains) if chosen else (loss_range, gains)
        return evaluate(
            read, chosen, runs, seed, level, names=called(learner), span=span, gains=earned, anytime=anytime
        )
    finally:
        read.close()
