"""Checks of learners: their descriptions, players, randomness, files and games."""

from __future__ import annotations

import copy
import dataclasses
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np

import hannan
from hannan import saving
from hannan.checks import players
from hannan.checks.players import Adapter, AdvisedAdapter, adapt, of_arms, state, with_tickets
from hannan.checks.report import Check, Report, hold, named, needs, rejects, run, skip
from hannan.games.play import play
from hannan.mathematics.bounds import Against
from hannan.players.load import load
from hannan.validation import Array


def repr_evaluates_to_an_equal_object(thing: Any) -> None:
    """Check that eval(repr(x)) == x, with the names of the package and of the module of x."""
    names = {name: getattr(hannan, name) for name in hannan.__all__}
    names |= vars(sys.modules[type(thing).__module__]) | {type(thing).__name__: type(thing)}
    built = eval(repr(thing), names)
    hold(built == thing, f"eval(repr(x)) must equal x; got {built!r} for {thing!r}")


def equal_objects_have_equal_hashes(thing: Any) -> None:
    """Check that a copy is equal and has the same hash, so that it can be a dictionary key."""
    copied = copy.copy(thing)
    hold(copied == thing, f"a copy must be equal; got {copied!r} for {thing!r}")
    hold(hash(copied) == hash(thing), f"equal objects must have equal hashes; got {hash(copied)} and {hash(thing)}")


def fields_are_read_only(thing: Any) -> None:
    """Check that no field can be set."""
    fields = list(getattr(type(thing), "__dataclass_fields__", ())) or list(vars(thing))
    if not fields:
        skip("the object has no fields")
    for name in fields:
        value = getattr(thing, name)
        try:
            setattr(thing, name, value)
        except (AttributeError, TypeError):
            continue
        hold(False, f"fields must be read-only; {name} could be set")


def json_round_trip_restores_the_object(thing: Any) -> None:
    """Check that `to_json` and `from_json` restore an equal object; a user-defined class must be registered."""
    text = saving.to_json(thing) if not hasattr(thing, "to_json") else thing.to_json()
    try:
        built = saving.from_json(text)
    except ValueError as reason:
        if type(thing).__module__.split(".")[0] == "hannan":
            raise
        skip(f"{reason} (hannan.register registers a user-defined class)")
    hold(
        type(built) is type(thing) and built == thing, f"JSON must restore an equal object; got {built!r} for {thing!r}"
    )


def bound_is_valid_or_withheld(learner: Any) -> None:
    """Check that a bound is finite, >= 0, non-decreasing in the number of rounds, and has a source and an adversary.

    It must not exceed the number of rounds times the loss range. If no bound is proved, `bound` must raise a
    ValueError.
    """
    needs(learner, "bound")
    values, withheld = [], ""
    for rounds in (0, 1, 2, 20, 80):
        try:
            bound = learner.bound(rounds=rounds)
        except ValueError as reason:
            withheld = str(reason)
            continue
        hold(math.isfinite(bound.value) and bound.value >= 0.0, f"a bound must be finite and >= 0; got {bound.value!r}")
        hold(bound.source, "a bound must have a source; got an empty one")
        known = get_args(Against)
        hold(bound.against in known, f"a bound must hold against one of {known}; got {bound.against!r}")
        low, high = getattr(learner, "loss_range", (-math.inf, math.inf))
        per_round = getattr(getattr(learner, "decisions", None), "most", 1)
        most = rounds * per_round * (high - low) if rounds else 0.0
        hold(
            bound.value <= most * (1 + 1e-12),
            f"bound for {rounds} rounds must be at most {most}, rounds times loss range; got {bound.value!r}",
        )
        values.append(bound.value)
    hold(values == sorted(values), f"a bound must not decrease with the number of rounds; got {values}")
    if not [value for value in values if value > 0.0]:
        skip(f"withheld: {withheld}" if withheld else "the bound is 0: there is only one choice")


#: Checks of learners and of perturbation distributions.
OF_VALUES: tuple[Check, ...] = (
    repr_evaluates_to_an_equal_object,
    equal_objects_have_equal_hashes,
    fields_are_read_only,
    json_round_trip_restores_the_object,
)
DESCRIPTION_CHECKS: tuple[Check, ...] = (*OF_VALUES, bound_is_valid_or_withheld)


def run_0_of_play_matches_the_player(learner: Any) -> None:
    """Check that `play(learner, losses, seed=5)` makes the moves of `learner.start(5)`, with the same total loss."""
    adapter, rounds = adapt(learner, 5), 90
    game = adapter.play_arguments(rounds)
    record = play(learner, **game, runs=1, seed=5, threads=1, keep="all")
    own, actions = 0.0, []
    for t in range(rounds):
        move = adapter.player.act(adapter.advice(t)) if isinstance(adapter, AdvisedAdapter) else adapter.player.act()
        losses = adapter.losses(t)
        adapter.observe(move, losses)
        own += adapter.cost(move, losses)
        actions.append(adapter.action(move))
    paid = float(record.loss[0, -1]) if record.loss is not None else own
    near = abs(paid - own) <= 1e-9 * rounds * max(1.0, abs(adapter.low), abs(adapter.high))
    hold(near, f"the loss in run 0 must be that of the player, {own!r}; got {paid!r}")
    if record.actions is not None and not adapter.not_arms:
        same = record.actions[0].tolist() == actions
        hold(same, "run 0 must make the moves of the player; the moves differ")


GAME_CHECKS: tuple[Check, ...] = (run_0_of_play_matches_the_player,)


def seed_determines_the_moves(learner: Any) -> None:
    """Check that equal seeds give equal moves, and different seeds different moves if there is a choice."""
    first = adapt(learner, 7).run(0, 100)
    hold(
        first == adapt(learner, 7).run(0, 100), "players with the same seed must make the same moves; the moves differ"
    )
    if adapt(learner).has_a_choice and _draws(learner):
        others = (adapt(learner, other).run(0, 100) for other in (8, 9, 10))
        hold(
            any(run != first for run in others),
            "players with different seeds must make different moves; four made the same",
        )


def unseeded_players_make_different_moves(learner: Any) -> None:
    """Check that two players without a seed make different moves.

    Both draw 100 moves before any loss is observed, so that both have the same distribution p. From p the check
    computes the probability that they agree by chance, which is at most 1e-6.
    """
    one, two = adapt(learner, None), adapt(learner, None)
    if not one.has_a_choice:
        skip("there is only one choice")
    if not _draws(learner):
        skip("the learner is deterministic (draws = False)")
    if getattr(learner, "own_noise", False):
        skip("noise that is kept over the rounds determines the first moves")
    chance, same = 0.0, True
    for t in range(100):
        if not one.not_arms and not one.advised and hasattr(one.player, "distribution"):
            chance += math.log(float(np.square(one.player.distribution()).sum()))
        same &= bool(one.action(one.act(t)) == two.action(two.act(t)))
    if chance > math.log(1e-6) and not (one.not_arms or one.advised):
        skip(f"two players agree by chance with probability {math.exp(chance):.3g}")
    hold(not same, "players without a seed must draw independently; two made the same 100 moves")


def certificate_reports_a_seed(learner: Any) -> None:
    """Check that the certificate reports a seed if and only if one was given."""
    with_seed, without = adapt(learner, 3).player, adapt(learner, None).player
    needs(with_seed, "certificate")
    if not _draws(learner):
        skip("the learner is deterministic (draws = False)")
    hold(with_seed.certificate().seeded, "the certificate must report the seed; got seeded=False")
    hold("a seed was given" in str(with_seed.certificate()), "the printed certificate must report the seed")
    hold(not without.certificate().seeded, "the certificate must report that there is no seed; got seeded=True")
    hold(
        "a seed was given" not in str(without.certificate()),
        "the printed certificate must not report a seed if there is none",
    )


def _draws(learner: Any) -> bool:
    """Return whether the moves are random; a deterministic learner has `draws = False`."""
    return bool(getattr(learner, "draws", True))


SEED_CHECKS: tuple[Check, ...] = (
    seed_determines_the_moves,
    unseeded_players_make_different_moves,
    certificate_reports_a_seed,
)


def saved_player_resumes_exactly(learner: Any) -> None:
    """Check that a player saved in any round and loaded with resume="exact" continues with the same moves."""
    _can_be_saved(learner)
    for cut in (0, 1, 37):
        never, killed = adapt(learner, 4), adapt(learner, 4)
        hold(
            never.run(0, cut) == killed.run(0, cut),
            "players with the same seed must make the same moves; the moves differ",
        )
        kept = [never.act(t) for t in range(cut, cut + 3)]
        handed = [killed.act(t) for t in range(cut, cut + 3)]
        resumed = adapt(learner, player=_through_a_file(killed.player, resume="exact"))
        hold(
            state(resumed.player) == state(killed.player),
            "a resumed player must have the saved state; the states differ",
        )
        handed = [type(move).from_json(move.to_json()) if hasattr(move, "to_json") else move for move in handed]
        for i in (1, 0, 2):
            never.observe(kept[i], never.losses(i))
            resumed.observe(handed[i], resumed.losses(i))
        same = never.run(cut + 3, cut + 60) == resumed.run(cut + 3, cut + 60)
        hold(same, f"a player saved after {cut} rounds must continue with the same moves; the moves differ")
        if hasattr(never.player, "certificate"):
            _certifies_as(never.player, resumed.player, bool(getattr(learner, "draws", True)))


def _certifies_as(never: Any, resumed: Any, draws: bool) -> None:
    """Check that the certificate is the same, and reports that another copy of the file could make the same moves."""
    found = resumed.certificate()
    reported = getattr(found, "resumed", False)
    rule = "a certificate after resume='exact' must have resumed=True if and only if the moves are random"
    hold(reported is draws, f"{rule}; got resumed={reported}, draws={draws}")
    same = never.certificate() == (dataclasses.replace(found, resumed=False) if draws else found)
    hold(same, "a resumed player must have the same certificate; the certificates differ")


def loaded_copies_are_independent(learner: Any) -> None:
    """Check that copies loaded without `resume` draw independently.

    Each copy accepts the moves that were pending when the player was saved, once, and rejects those of the other copy.
    """
    _can_be_saved(learner)
    adapter = adapt(learner, 4)
    adapter.run(0, 20)
    old = adapter.act(20)
    one, two = (adapt(learner, player=_through_a_file(adapter.player)) for _ in range(2))
    names = {adapter.player.id, one.player.id, two.player.id}
    hold(len(names) == 3, f"each copy must have a new id; got {sorted(names)}")
    if hasattr(adapter.player, "distribution") and not adapter.not_arms:
        same = (one.player.distribution() == adapter.player.distribution()).all()
        hold(same, "a copy must have the distribution of the saved player; p differs")
    new = one.act(21)
    for each in (one, two):
        each.observe(old, each.losses(20))
        rejects(lambda each=each: each.observe(old, each.losses(20)), "a move settled already")  # type: ignore[misc]
    two.act(21)
    rejects(lambda: two.observe(new, two.losses(21)), "a move of another copy")
    one.observe(new, one.losses(21))
    _draw_for_themselves(one, two)


def _draw_for_themselves(one: Adapter, two: Adapter) -> None:
    """Check that 100 moves of two copies differ, unless they agree by chance with probability above 1e-6."""
    if one.not_arms or one.advised:
        return
    chance, same = 0.0, True
    for t in range(100):
        chance += float(np.log(np.square(one.player.distribution()).sum()))
        same &= bool(one.action(one.act(t)) == two.action(two.act(t)))
    hold(not same or chance > np.log(1e-6), "copies must draw independently; two made the same 100 moves")


def _can_be_saved(learner: Any) -> None:
    adapter = with_tickets(learner)
    needs(adapter.player, "save")
    try:
        known = saving.build(saving.describe(learner))
    except ValueError as reason:
        skip(f"{reason} (hannan.register registers a user-defined class)")
    hold(known == learner, f"a learner must be restored from its description; got {known!r} for {learner!r}")


def _through_a_file(player: Any, resume: str | None = None) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "player.json"
        player.save(path)
        return load(path, resume=resume)


FILE_CHECKS: tuple[Check, ...] = (saved_player_resumes_exactly, loaded_copies_are_independent)


def relabeled_arms_relabel_the_distribution(learner: Any) -> None:
    """Check that relabeled arms give a relabeled distribution.

    With full information, 60 rounds are played with permuted columns. For bandits, p may depend on when an arm was
    drawn, but not on its index.
    """
    adapter = of_arms(learner)
    needs(adapter.player, "distribution")
    if adapter.advised:
        skip("the advice distinguishes the losses")
    if getattr(learner, "prior", None) is not None:
        skip("the prior distinguishes the arms")
    if getattr(learner, "own_noise", False):
        skip("noise that is kept over the rounds distinguishes the arms")
    if adapter.choices == 1:
        skip("there is only one choice")
    if adapter.full:
        _whole_rows(learner)
    elif getattr(getattr(learner, "estimator", None), "draws", False):
        skip("the loss estimates are random")
    elif getattr(learner, "reported", False):
        skip("the reports of losses are random")
    else:
        _paths(learner)


def _whole_rows(learner: Any) -> None:
    plain, permuted = adapt(learner), adapt(learner)
    order = np.random.default_rng(3).permutation(plain.choices)
    for t in range(60):
        _same(permuted.player.distribution(), plain.player.distribution()[order])
        row = plain.losses(t)
        plain.observe(plain.act(t), row)
        permuted.observe(permuted.act(t), row[order])


def _paths(learner: Any) -> None:
    """Check that sequences of draws that are equal up to relabeling give the same p."""
    seen: dict[tuple[int, ...], Array] = {}
    met = 0
    for seed in range(60):
        adapter = adapt(learner, seed)
        drawn: list[int] = []
        for t in range(4):
            move = adapter.act(t)
            drawn.append(int(adapter.action(move)))
            adapter.observe(move, adapter.row(np.full(adapter.choices, 0.2 + 0.2 * t)))
            shape, p = _shape(drawn, adapter)
            met += shape in seen
            _same(p, seen.setdefault(shape, p))
    hold(met > 60, f"at least 60 of 240 sequences of draws must be equal to another up to relabeling; got {met}")


def _shape(drawn: list[int], adapter: Adapter) -> tuple[tuple[int, ...], Array]:
    """Return the draws with arms numbered by first occurrence, and p in that order, followed by arms never drawn."""
    first = list(dict.fromkeys(drawn))
    rest = [arm for arm in range(adapter.choices) if arm not in first]
    return tuple(first.index(arm) for arm in drawn), np.asarray(adapter.player.distribution())[[*first, *rest]]


def _same(found: Array, right: Array) -> None:
    far = np.abs(found - right) - 1e-8 * right
    hold((far <= 1e-13).all(), f"p of relabeled arms must be {right}; got {found}")


SYMMETRY_CHECKS: tuple[Check, ...] = (relabeled_arms_relabel_the_distribution,)


CHECKS = (
    *DESCRIPTION_CHECKS,
    *players.PLAYER_CHECKS,
    *SEED_CHECKS,
    *SYMMETRY_CHECKS,
    *players.FEEDBACK_CHECKS,
    *FILE_CHECKS,
    *GAME_CHECKS,
)


def learner_checks(learner: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Return all checks of a learner, for `pytest.mark.parametrize`.

    Parameters
    ----------
    learner : object
        Learner with a method `start(seed)`.

    Returns
    -------
    iterator of tuple (str, callable)
        Name of each check, and a function without arguments. It raises `Failed` if the learner violates the rule, and
        `Skipped` if the check does not apply.

    Examples
    --------
    >>> import hannan as hn
    >>> dict(learner_checks(hn.Experts(3)))["seed_determines_the_moves"]()
    """
    return named(CHECKS, learner)


def check_learner(learner: Any) -> Report:
    """Run all checks of a learner.

    Parameters
    ----------
    learner : object
        Learner with a method `start(seed)`.

    Returns
    -------
    Report
        Checks that passed, and checks that were skipped with their reasons.

    Raises
    ------
    Failed
        If the learner violates a rule; the message lists all violations.

    Examples
    --------
    >>> import hannan as hn
    >>> print(check_learner(hn.Dropout(3)))
    Dropout(3): 22 checks passed, 3 skipped
      invalid_advice_is_rejected: skipped, the learner takes no advice
      unseeded_players_make_different_moves: skipped, noise that is kept over the rounds determines the first moves
      relabeled_arms_relabel_the_distribution: skipped, noise that is kept over the rounds distinguishes the arms
    """
    return run(learner_checks(learner), learner)
