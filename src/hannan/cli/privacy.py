"""`hannan privacy`: privacy of all moves of a learner, and its price in regret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from hannan.cli.options import Choice, emit, paged, shared, written

EPILOG = """\b
Examples:
  hannan privacy --learner private-experts --n 10 --rounds 10000 --epsilon 1
  hannan privacy --learner private-experts --learner experts --n 10 --rounds 10000 --epsilon 1 --out privacy
  hannan privacy --d 10 --rounds 1000 --epsilon 1 --delta 1e-6 --noise gaussian --curve
  hannan privacy --d 10 --rounds 1000 --scale 50 --json
"""
#: Learners, and the option that gives their number of experts, arms or coordinates.
LEARNERS = {
    "convex": "--d", "private-ball": "--d", "private-experts": "--n", "experts": "--n", "locally-private": "--n",
}  # fmt: skip
#: Options that only some learners have, and these learners.
ONLY = {
    "--domain": ("convex",), "--noise": ("convex",), "--smooth": ("convex",), "--accuracy": ("convex",),
    "--loss-bound": ("convex",), "--scale": ("convex", "experts"),
    "--radius": ("convex", "private-ball"), "--lipschitz": ("convex", "private-ball"),
    "--per-person": ("private-ball", "private-experts", "experts", "locally-private"),
    "--share": ("private-ball", "private-experts", "experts", "locally-private"),
    "--neighbors": ("private-ball", "private-experts", "experts"),
    "--sparsity": ("private-experts",), "--without-end": ("private-experts", "locally-private"),
    "--delta": ("convex", "private-ball", "private-experts", "experts"),
}  # fmt: skip
#: Delta of learners other than `convex`.
DELTA = 1e-6


@dataclass(frozen=True)
class Options:
    """Options of the command that describe learners."""

    rounds: int
    n: int | None
    d: int | None
    epsilon: float | None
    scale: float | None
    delta: float | None
    kind: str
    radius: float
    lipschitz: float
    noise: str
    smooth: float
    accuracy: float | None
    loss_bound: float | None
    neighbors: Any
    per_person: int
    share: int
    sparsity: int | None
    without_end: bool

    @property
    def budget_delta(self) -> float:
        """Delta of a learner other than convex."""
        return DELTA if self.delta is None else self.delta


@dataclass(frozen=True)
class Answer:
    """Privacy and price of one learner."""

    name: str
    learner: Any
    statement: Any
    #: Smallest scale within the budget, or the given scale; None if the learner takes epsilon itself.
    scale: str | None
    bound: Any
    withheld: str
    #: Bounds by epsilon; with `epsilons`, at these values.
    curve: Callable[..., Any]
    #: Privacy of one learner, if several share the budget.
    each: Any = None


@click.command(epilog=EPILOG, short_help="Privacy of all moves, and its price in regret.")
@click.option(
    "--learner",
    "names",
    type=Choice(list(LEARNERS)),
    multiple=True,
    default=("convex",),
    show_default=True,
    help="Learner; repeat the option to compare learners. experts is Hedge; locally-private wraps a bandit.",
)
@click.option("--n", type=click.IntRange(min=1), help="Number of experts or arms.")
@click.option("--d", type=click.IntRange(min=1), help="Dimension of the moves of convex and private-ball.")
@click.option(
    "--domain",
    "kind",
    type=Choice(["ball", "box", "simplex"]),
    default="ball",
    show_default=True,
    help="Domain of the moves.",
)
@click.option(
    "--radius", type=float, default=1.0, show_default=True, help="Radius of the ball, or half the side of the box."
)
@click.option("--lipschitz", type=float, default=1.0, show_default=True, help="Lipschitz constant of the losses.")
@click.option(
    "--noise",
    type=Choice(["gamma", "gaussian"]),
    default="gamma",
    show_default=True,
    help="Distribution of the noise of convex; gaussian requires --delta.",
)
@click.option("--rounds", type=click.IntRange(min=1), required=True, help="Number of moves.")
@click.option("--epsilon", type=float, help="Privacy budget over all rounds.")
@click.option("--scale", type=float, help="Noise scale of convex, or scale of Hedge (computes epsilon).")
@click.option(
    "--delta",
    type=float,
    help="Delta of the privacy budget over all rounds (default: 1e-6; for convex with gamma noise 0).",
)
@click.option(
    "--neighbors",
    type=Choice(["add-remove", "replace"]),
    default="add-remove",
    show_default=True,
    help="Neighboring sequences: one loss vector added or removed, or replaced.",
)
@click.option(
    "--per-person",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Largest number of rounds to which one person contributes.",
)
@click.option(
    "--share",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of learners that observe the same people and share the budget.",
)
@click.option("--sparsity", type=click.IntRange(min=1), help="Largest number of nonzero losses per round.")
@click.option("--without-end", is_flag=True, help="Cover any number of rounds; the bound is for --rounds.")
@click.option(
    "--smooth", type=float, default=0.0, show_default=True, help="Smoothness constant of the losses; 0 for linear."
)
@click.option("--accuracy", type=float, help="For curved losses: maximum distance of a move from the exact minimizer.")
@click.option("--loss-bound", type=float, help="Maximum loss on the domain, for losses that are at least 0.")
@click.option("--curve", is_flag=True, help="Also print the regret bound as a function of epsilon.")
@shared("Folder for privacy.json and a page with the curves.")
def command(
    names: tuple[str, ...], curve: bool, as_json: bool, seed: int, out: Path | None, **given: Any
) -> None:  # fmt: skip
    """Print the privacy of all moves together, the regret bound, and the epsilon that costs at most 10% more regret.

    \b
    convex           hn.Convex: fresh noise in every round
    private-ball     hn.PrivateBall: linear losses on a ball, correlated noise
    private-experts  hn.PrivateExperts: experts, correlated noise
    experts          hn.Experts(n, hn.Entropy()): Hedge without noise
    locally-private  hn.LocallyPrivate(hn.Bandit(n)): randomized reports of losses

    For convex and experts, epsilon determines the scale, or --scale determines epsilon. A guarantee holds if the player
    is started without a seed. It covers the moves; that of locally-private also covers certificates and files.
    """
    names = tuple(dict.fromkeys(names))
    options = Options(**given)
    _check(names, options, click.get_current_context())
    answers = [BUILD[name](options) for name in names]
    points = [answer.curve() for answer in answers] if curve or out is not None or len(answers) > 1 else []
    data = [_data(answer, point) for answer, point in zip(answers, points or [None] * len(answers), strict=True)]
    whole: dict[str, Any] = data[0] if len(data) == 1 else {"learners": data}
    if len(answers) > 1:
        text = _compared(answers, points, options)
    else:
        text = _text(answers[0])
        if curve:
            text += f"\n\n{points[0]}"
    if out is not None:
        page = partial(_page, answers, points)
        _, line = paged(out, page, lambda box, _: _keep(whole, box.path("privacy.json")))
        text += f"\n\n{line}"
    emit(whole, text, as_json)


def _keep(data: dict[str, Any], path: Path) -> None:
    written(data, path)


def _check(names: tuple[str, ...], options: Options, context: click.Context) -> None:
    """Raise ValueError if an option is missing, or given for a learner without it."""
    for name in names:
        size = LEARNERS[name]
        if getattr(options, size[2:]) is None:
            raise ValueError(f"{size} is required for --learner {name}")
    for option, learners in ONLY.items():
        parameter = "kind" if option == "--domain" else option[2:].replace("-", "_")
        set_here = context.get_parameter_source(parameter) is click.core.ParameterSource.COMMANDLINE
        if set_here and not set(names) & set(learners):
            value = getattr(options, parameter)
            shown = (
                option if value is True else f"{option} {value:g}" if isinstance(value, float) else f"{option} {value}"
            )
            raise ValueError(
                f"{option} applies to --learner {' and '.join(learners)} only; got {shown} with --learner "
                f"{' and '.join(names)}"
            )
    if (options.epsilon is None) == (options.scale is None):
        got = "neither" if options.scale is None else f"--epsilon {options.epsilon:g} and --scale {options.scale:g}"
        if set(names) & set(ONLY["--scale"]):
            raise ValueError(f"exactly one of --epsilon and --scale is required; got {got}")
        raise ValueError(f"--epsilon is required for --learner {names[0]}; got {got}")
    if options.scale is not None and len(names) > 1:
        raise ValueError(f"--epsilon is required to compare learners; got --scale {options.scale:g}")
    if options.scale is not None and options.share > 1:
        raise ValueError(f"--share divides --epsilon among learners; got --share {options.share} with --scale")


# Learners


def _bounded(learner: Any, rounds: int) -> tuple[Any, str]:
    try:
        return learner.bound(rounds), ""
    except ValueError as reason:
        return None, str(reason)


def _convex(options: Options) -> Answer:
    import hannan as hn
    from hannan.learners.convex.privacy import private
    from hannan.saving.formatting import ceiling

    if options.smooth > 0.0 and options.accuracy is None:
        raise ValueError(
            "--accuracy is required for curved losses: the maximum distance of a move from the exact minimizer; "
            f"got --smooth {options.smooth:g} without --accuracy"
        )
    if options.noise == "gaussian" and options.delta is None:
        raise ValueError("--delta is required with --noise gaussian, for example --delta 1e-6")
    d, radius, rounds = options.d or 1, options.radius, options.rounds
    domain: Any = hn.Ball(d, radius) if options.kind == "ball" else hn.Simplex(d)
    if options.kind == "box":
        domain = hn.Box([-radius] * d, [radius] * d)
    distribution: Any = hn.GammaNoise() if options.noise == "gamma" else hn.GaussianNoise(options.delta)
    given = 1.0 if options.scale is None else options.scale
    learner: Any = hn.Convex(
        domain, options.lipschitz, distribution, hn.Fixed(given), options.loss_bound, options.smooth,
        guarantee="privacy", accuracy=options.accuracy,
    )  # fmt: skip
    total, scale = options.delta or None, options.scale
    if scale is None and options.epsilon is not None:
        scale = learner.scale_for(options.epsilon, total, rounds)
    fixed: Any = private(learner, 1.0 if scale is None else scale)
    # A computed scale is rounded up: a larger scale stays within the budget.
    shown = ceiling(fixed.tuning.scale) if options.epsilon is not None else f"{scale:.15g}"
    bound, withheld = _bounded(fixed, rounds)
    curve = partial(fixed.privacy_curve, rounds, total)
    return Answer("convex", fixed, fixed.privacy(rounds, total), shown, bound, withheld, curve=curve)


def _answer(
    options: Options, name: str, at: Callable[[float], Any], state: Callable[[Any], Any],
    curve: Callable[[Any], Callable[..., Any]], scale: Callable[[Any], str | None] = lambda _: None,
) -> Answer:  # fmt: skip
    """Return the answer for the learner `at(epsilon)`, where `state` states its privacy."""
    epsilon = 1.0 if options.epsilon is None else options.epsilon
    learner = at(epsilon)
    statement, each = state(learner), None
    if options.share > 1:
        learner = at(statement.share(options.share))
        each = state(learner)
        statement = each.together(*[each] * (options.share - 1))
    bound, withheld = _bounded(learner, options.rounds)
    return Answer(name, learner, statement, scale(learner), bound, withheld, curve=curve(learner), each=each)


def _private_experts(options: Options) -> Answer:
    import hannan as hn

    def at(epsilon: float) -> Any:
        return hn.PrivateExperts(
            options.n or 1, epsilon, options.budget_delta, None if options.without_end else options.rounds,
            per_person=options.per_person, neighbors=options.neighbors, sparsity=options.sparsity,
        )  # fmt: skip

    return _answer(
        options, "private-experts", at, lambda learner: learner.privacy(),
        lambda learner: partial(learner.privacy_curve, options.rounds),
    )  # fmt: skip


def _private_ball(options: Options) -> Answer:
    import hannan as hn

    def at(epsilon: float) -> Any:
        return hn.PrivateBall(
            hn.Ball(options.d or 1, options.radius), options.lipschitz, epsilon, options.budget_delta, options.rounds,
            per_person=options.per_person, neighbors=options.neighbors,
        )  # fmt: skip

    return _answer(
        options, "private-ball", at, lambda learner: learner.privacy(),
        lambda learner: partial(learner.privacy_curve, options.rounds),
    )  # fmt: skip


def _experts(options: Options) -> Answer:
    import hannan as hn
    from hannan.saving.formatting import ceiling

    delta = options.budget_delta
    pairs: Any = {"neighbors": options.neighbors, "per_person": options.per_person}
    plain: Any = hn.Experts(options.n or 1, hn.Entropy())
    # A larger scale is private as well: the scale is never below the one with the smallest bound.
    least = hn.Experts(options.n or 1, hn.Entropy(), hn.Horizon(options.rounds)).schedule().scale(1, 0.0)

    def at(epsilon: float) -> Any:
        scale = options.scale
        if scale is None:
            scale = max(plain.scale_for(epsilon, delta, options.rounds, **pairs), least)
        return hn.Experts(options.n or 1, hn.Entropy(), hn.Fixed(scale))

    def shown(learner: Any) -> str:
        return ceiling(learner.tuning.scale) if options.scale is None else f"{options.scale:.15g}"

    return _answer(
        options, "experts", at, lambda learner: learner.privacy(options.rounds, delta, **pairs),
        lambda learner: partial(learner.privacy_curve, options.rounds, delta, **pairs), shown,
    )  # fmt: skip


def _locally_private(options: Options) -> Answer:
    import hannan as hn

    n = options.n or 1
    inner: Any = hn.Bandit(n) if options.without_end else hn.Bandit(n, tuning=hn.Horizon(options.rounds))
    many: Any = {"per_person": options.per_person}

    def at(epsilon: float) -> Any:
        return hn.LocallyPrivate(inner, epsilon / options.per_person)

    return _answer(
        options, "locally-private", at, lambda learner: learner.privacy(**many),
        lambda learner: partial(learner.privacy_curve, options.rounds, **many),
    )  # fmt: skip


BUILD: dict[str, Callable[[Options], Answer]] = {
    "convex": _convex, "private-ball": _private_ball, "private-experts": _private_experts, "experts": _experts,
    "locally-private": _locally_private,
}  # fmt: skip


# Results


def _data(answer: Answer, points: Any) -> dict[str, Any]:
    statement = answer.statement
    return {
        "learner": repr(answer.learner),
        "scale": getattr(getattr(answer.learner, "tuning", None), "scale", None) if answer.scale else None,
        **statement.to_dict(),
        "between": statement.between,
        "each": None if answer.each is None else answer.each.to_dict(),
        "bound": None if answer.bound is None else answer.bound.to_dict(),
        "bound_withheld": answer.withheld,
        "curve": None if points is None else points.to_dict(),
    }


def _ten_percent(points: Any) -> str:
    from hannan.saving.formatting import ceiling

    found = points.epsilon_at_ten_percent
    return "for no epsilon" if found is None else f"for epsilon >= {ceiling(found)}"


def _text(answer: Answer) -> str:
    """Return the statement of one learner, its bound, and the inverse."""
    from hannan.saving.result import as_text

    content = answer.statement.shown()
    proved = f"none: {answer.withheld}" if answer.bound is None else answer.bound.headline
    rows = [] if answer.each is None else [("each learner", answer.each.says)]
    rows += [] if answer.scale is None else [("scale", answer.scale)]
    rows.append(("bound", proved))
    if answer.bound is not None:
        # One point of the curve is enough for its inverse.
        points = answer.curve(epsilons=[answer.statement.epsilon if answer.each is None else answer.each.epsilon])
        rows.append(("at most 10% more regret", _ten_percent(points) + (" of each learner" if answer.each else "")))
    theorems = () if answer.bound is None else (("bound by", answer.bound.theorem),)
    learner = [("learner", repr(answer.learner))]
    return as_text(content._replace(rows=rows, details=[*content.details, *theorems, *learner]))


def _compared(answers: list[Answer], curves: list[Any], options: Options) -> str:
    """Return the table of several learners, and the bounds by epsilon."""
    from hannan.saving.result import Shown, as_text

    title = f"Regret bounds of {options.rounds} rounds by epsilon"
    table, heads = _columns(answers, curves)
    rows = [(answer.name, answer.statement.says) for answer in answers]
    rows += [
        (f"{answer.name}, at most 10% more regret", _ten_percent(points))
        for answer, points in zip(answers, curves, strict=True)
    ]
    assumptions = [(answer.name, f"{answer.statement.between}; {answer.statement.condition}") for answer in answers]
    adversaries = [
        (f"bound of {answer.name}", f"none: {answer.withheld}" if answer.bound is None else answer.bound.adversary)
        for answer in answers
    ]
    return as_text(Shown(title, rows, heads, table, assumptions=assumptions, details=adversaries))


def _columns(answers: list[Answer], curves: list[Any]) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    """Return (rows, heads) of bounds by epsilon."""
    from hannan.saving.formatting import AtMost

    def cells(values: Any) -> tuple[Any, ...]:
        return tuple(None if value is None else AtMost(value) for value in values)

    table = [(epsilon, *cells(points.bounds[i] for points in curves)) for i, epsilon in enumerate(curves[0].epsilons)]
    table.append(("none", *cells(points.free for points in curves)))
    return table, ("epsilon", *(answer.name for answer in answers))


def _page(answers: list[Answer], curves: list[Any]) -> Any:
    """Return the page with guarantees, curves, their table and the conditions."""
    from hannan.report import Facts, Figure, Page, Section, Table, Text, Tile, Tiles
    from hannan.saving.formatting import ceiling, chance

    tiles: list[Any] = []
    for answer, points in zip(answers, curves, strict=True):
        statement, of = answer.statement, "" if len(answers) == 1 else f", {answer.name}"
        if not tiles:
            covered = "any number of rounds" if statement.rounds is None else f"{statement.rounds} moves"
            tiles.append(Tile(ceiling(statement.epsilon), f"epsilon of {covered}", "good"))
        if answer.bound is not None:
            tiles.append(Tile(ceiling(answer.bound.value), f"bound on the expected regret{of}"))
        if len(answers) > 1:
            continue  # the table of learners has the rest
        tiles.append(Tile(chance(statement.delta), "delta"))
        if answer.scale is not None:
            tiles.append(Tile(answer.scale, "scale"))
        if points.epsilon_at_ten_percent is not None:
            tiles.append(Tile(ceiling(points.epsilon_at_ten_percent), "epsilon at 10% more regret"))
    blocks: list[Any] = []
    if len(answers) == 1 and any(bound is not None for bound in curves[0].bounds):
        blocks.append(Figure(curves[0].picture()))
    elif len(answers) > 1:
        blocks.append(Figure(_picture(answers, curves)))
    table, heads = _columns(answers, curves)
    if len(answers) == 1:
        shown = curves[0].shown()
        table, heads = list(shown.table), tuple(shown.columns)
    blocks.append(Table(heads, tuple(table), "Bound on the expected regret for each epsilon over all rounds."))
    sections = [Section("Regret bound by epsilon", tuple(blocks))]
    if len(answers) > 1:
        sections.append(Section("Learners", (_learners(answers, curves),)))
    for answer, points in zip(answers, curves, strict=True):
        facts = {**dict(points.shown().rows), "privacy": answer.statement.says, "theorem": answer.statement.source}
        facts |= {} if answer.bound is None else {"regret": answer.bound.headline}
        facts |= {} if answer.each is None else {"each learner": answer.each.says}
        facts["learner"] = repr(answer.learner)
        sections.append(
            Section(
                "Conditions" if len(answers) == 1 else f"Conditions of {answer.name}",
                (
                    Text(f"{_upper(answer.statement.between)}."),
                    Text(f"{_upper(answer.statement.condition)}."),
                    Facts(facts),
                ),
            )
        )
    head = answers[0].statement.says if len(answers) == 1 else "Regret bounds of learners with the same epsilon"
    return Page("Private online learning", f"{head}.", (Tiles(tuple(tiles)),), tuple(sections))


def _learners(answers: list[Answer], curves: list[Any]) -> Any:
    """Return the table of learners: delta, scale, bound, its adversary, and the epsilon at 10% more regret."""
    from hannan.report import Table
    from hannan.saving.formatting import AtMost, ceiling, chance

    rows = [
        (
            answer.name,
            chance(answer.statement.delta),
            answer.scale or "–",
            None if answer.bound is None else AtMost(answer.bound.value),
            answer.withheld if answer.bound is None else answer.bound.adversary,
            "none" if points.epsilon_at_ten_percent is None else ceiling(points.epsilon_at_ten_percent),
        )
        for answer, points in zip(answers, curves, strict=True)
    ]
    heads = ("learner", "delta", "scale", "bound", "adversary", "epsilon at 10% more regret")
    return Table(heads, tuple(rows), "Each learner at the epsilon above.")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _picture(answers: list[Answer], curves: list[Any]) -> Any:
    from hannan.report.pictures import Layer, Picture
    from hannan.saving.formatting import ceiling

    rows = [
        {"epsilon": epsilon, "bound": bound, "learner": answer.name}
        for answer, points in zip(answers, curves, strict=True)
        for epsilon, bound in zip(points.epsilons, points.bounds, strict=True)
        if bound is not None
    ]
    first = [f"{answer.name} {ceiling(bound)}" for answer, points in zip(answers, curves, strict=True)
             if (bound := points.bounds[0]) is not None]  # fmt: skip
    return Picture(
        "What privacy costs: the bound on the regret by epsilon", "epsilon over all rounds", "bound on the regret",
        (Layer("line", tuple(rows), x="epsilon", y="bound", series="learner"),),
        alt=f"The bounds fall as epsilon grows. At epsilon {curves[0].epsilons[0]:g} they are: {', '.join(first)}.",
        x_log=True, y_log=True,
    )  # fmt: skip
