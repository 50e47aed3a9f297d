"""What each column of a table is for: one thing, and never the answer among the questions."""

from __future__ import annotations

from collections.abc import Iterable

from hannan.tables.read.table import BadTable, clipped


def one_role(roles: Iterable[tuple[str, str]]) -> None:
    """Refuse a column that is asked for twice: (role, column) of every column that was named.

    A target among the experts would forecast itself without error; a column twice is no second opinion.

    >>> one_role([("the target", "y"), ("an expert", "a"), ("an expert", "y")])
    Traceback (most recent call last):
    hannan.tables.read.table.BadTable: a column must have one role; got 'y' as the target and as an expert
    """
    seen: dict[str, str] = {}
    for role, column in roles:
        if column in seen:
            again = f"{role} twice" if seen[column] == role else f"{seen[column]} and as {role}"
            raise BadTable(f"a column must have one role; got {clipped(column)} as {again}")
        seen[column] = role


def forecast_roles(target: str | None, time: str | None, experts: Iterable[str], issued: str | None = None) -> None:
    """Target, times, issue times and experts of a table of forecasts must be different columns."""
    named = [("the target", target), ("the times", time), ("the issue times", issued)]
    named += [("an expert", name) for name in experts]
    one_role((role, name) for role, name in named if name is not None)


def log_roles(
    action: str, loss: str, propensity: str | None, advice: Iterable[str], contexts: Iterable[str] = (),
    smallest: str | None = None,
) -> None:  # fmt: skip
    """Raise BadTable unless action, loss, propensity, advice, contexts and smallest are different columns."""
    if smallest is not None and propensity is None:
        raise BadTable(f"smallest needs propensity too, the probability of the action; got {smallest!r} alone")
    named = [("the action", action), ("the loss", loss), ("the propensity", propensity)]
    named.append(("the smallest probability", smallest))
    named += [*(("advice", name) for name in advice), *(("a context", name) for name in contexts)]
    one_role((role, name) for role, name in named if name is not None)
