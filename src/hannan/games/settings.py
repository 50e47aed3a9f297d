"""Which runner plays a learner: the learner says its setting, and this room has the runner of each.

A setting of the engine's is a program's ("experts", "bandit", "expert_bandit"); others are said by the learner itself
("convex", "descent", "decisions"); a learner that says neither is a stranger's, and is stepped.
"""

from __future__ import annotations

from typing import Any

from hannan.frozen import once
from hannan.games import feeds
from hannan.games.asked import Asked
from hannan.games.bandits import BanditRunner, ExpertBanditRunner
from hannan.games.experts import ExpertsRunner, NoisyRunner
from hannan.games.own import is_player
from hannan.games.runners import Runner, TableRunner


def begin(learner: Any, losses: Any, asked: Asked) -> Runner:
    """The game of a learner, begun."""
    if isinstance(learner, type):
        raise ValueError(f"learner must be a learner, built, not its class; got {learner.__name__}")
    if not hasattr(learner, "start"):
        hint = ". Pass its class or a function that makes it, so that each run has a new one" * is_player(learner)
        raise ValueError(f"learner must be a learner, with a method start; got {learner!r}{hint}")
    if is_adversary(losses):
        return _against_an_adversary(learner, losses, asked)
    setting = getattr(learner, "setting", None)
    if setting == "convex":
        from hannan.games.convex import ConvexRunner

        return ConvexRunner(learner, losses, asked)
    if setting == "descent":
        from hannan.games.descent import DescentRunner

        return DescentRunner(learner, losses, asked)
    if setting == "decisions":
        from hannan.games.decisions import DecisionsRunner

        return DecisionsRunner(learner, losses, asked)
    return _of_a_table(learner, losses, asked)


def is_adversary(losses: Any) -> bool:
    """Whether these losses are an adversary's: a function of (t, past), or what has `loss(t, past)` or makes it.

    >>> is_adversary(lambda t, past: [0.0, 1.0]), is_adversary([[0.0, 1.0]])
    (True, False)
    """
    return callable(losses) or callable(getattr(losses, "loss", None)) or _begins(losses)


def _begins(losses: Any) -> bool:
    return hasattr(losses, "start") and not hasattr(losses, "act") and not hasattr(losses, "bound")


_program = once(lambda learner: learner.program())


def program_of(learner: Any, losses: Any) -> Any:
    """The learner as the engine takes it, or as a stranger says it."""
    if hasattr(learner, "program"):
        return _program(learner)
    from hannan.games.stepped import stranger

    return stranger(learner, losses)


def _of_a_table(learner: Any, losses: Any, asked: Asked) -> TableRunner:
    """Losses are a number for each choice."""
    program = program_of(learner, losses)
    advised = program.setting == "expert_bandit"
    if not advised:
        asked.no_advice(learner)
    if program.setting != "experts" or program.stepped or program.as_they_are:
        asked.not_fictitious(learner)
    runner, columns = _runner(learner, program), program.actions if advised else program.n
    experts, unread = program.n if advised else 0, runner.reads_advice
    feed = feeds.feed(losses, columns, asked.runs, asked.rounds, asked.advice, experts, unread=unread)
    return runner(learner, program, feed, asked)


def _runner(learner: Any, program: Any) -> type[TableRunner]:
    if program.stepped:
        from hannan.games.stepped import SteppedRunner

        return SteppedRunner
    if program.as_they_are:
        from hannan.games.adahedge import AdaHedgeRunner

        return AdaHedgeRunner
    if getattr(learner, "own_noise", False) and program.setting == "experts":
        return NoisyRunner
    if program.setting == "experts":
        return ExpertsRunner
    return ExpertBanditRunner if program.setting == "expert_bandit" else BanditRunner


def _against_an_adversary(learner: Any, adversary: Any, asked: Asked) -> Runner:
    """A game of losses that answer past moves, stepped."""
    from hannan.games.adaptive import AdaptiveRunner, AdvisedTable, Table, VectorTable

    name, setting = type(learner).__name__, getattr(learner, "setting", None)
    if asked.fictitious:
        raise ValueError(
            f"the fictitious player sees the losses before it moves, which {name} cannot; got an adversary"
        )
    table: Table
    if setting in ("convex", "descent"):
        from hannan.games.convex_table import ConvexTable, DescentTable

        table = ConvexTable(learner) if setting == "convex" else DescentTable(learner)
    elif setting == "decisions":
        from hannan.games.decision_table import DecisionTable

        table = DecisionTable(learner)
    else:
        if not (hasattr(learner, "program") or hasattr(learner, "n")):
            raise ValueError(f"{name} must have n, the number of its choices, to meet an adversary; got {learner!r}")
        program = program_of(learner, None)
        if program.setting == "expert_bandit":
            return AdaptiveRunner(AdvisedTable(learner, program, asked), adversary, asked)
        if program.as_they_are:
            from hannan.games.adahedge import AdaHedgeTable

            table = AdaHedgeTable(learner, program)
        else:
            table = VectorTable(learner, program)
    asked.no_advice(learner)
    return AdaptiveRunner(table, adversary, asked)
