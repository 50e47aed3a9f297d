"""The contract of learners: what is held of the description, of its player, of tickets and of files."""

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
from hannan.checks.report import Check, Report, hold, named, needs, refuses, run, skip
from hannan.checks.settings import AdvisedSeat, Seat, of_arms, seat, state, with_tickets
from hannan.games.play import play
from hannan.mathematics.bounds import Against
from hannan.players.load import load
from hannan.validation import Array


def repr_can_be_pasted(thing: Any) -> None:
    """`eval(repr(x)) == x`, with the names of the package and of the module that x comes from."""
    names = {name: getattr(hannan, name) for name in hannan.__all__}
    names |= vars(sys.modules[type(thing).__module__]) | {type(thing).__name__: type(thing)}
    built = eval(repr(thing), names)
    hold(built == thing, f"repr must be pasted as an equal; got {built!r} of {thing!r}")


def equal_ones_hash_alike(thing: Any) -> None:
    """It can be a key: an equal one finds it."""
    twin = copy.copy(thing)
    hold(twin == thing, f"a copy must be an equal; got {twin!r} of {thing!r}")
    hold(hash(twin) == hash(thing), f"equal ones must have one hash; got {hash(twin)} and {hash(thing)}")


def it_is_frozen(thing: Any) -> None:
    """No field can be set: what was described is what is played."""
    fields = list(getattr(type(thing), "__dataclass_fields__", ())) or list(vars(thing))
    if not fields:
        skip("it has no fields")
    for name in fields:
        value = getattr(thing, name)
        try:
            setattr(thing, name, value)
        except (AttributeError, TypeError):
            continue
        hold(False, f"fields must be frozen; {name} could be set")


def json_goes_both_ways(thing: Any) -> None:
    """`to_json` and back is an equal of the same class; a class of your own is registered with `hannan.register`."""
    text = saving.to_json(thing) if not hasattr(thing, "to_json") else thing.to_json()
    try:
        built = saving.from_json(text)
    except ValueError as reason:
        if type(thing).__module__.split(".")[0] == "hannan":
            raise
        skip(f"{reason} (hannan.register makes a class of your own known)")
    hold(type(built) is type(thing) and built == thing, f"JSON must come back as it was; got {built!r} of {thing!r}")


def a_bound_is_stated_or_withheld(learner: Any) -> None:
    """A bound is a finite number >= 0 with a source and of whom it holds, no more than the rounds times the range,
    and never falls with the rounds; where none is proved it is refused with a ValueError."""
    needs(learner, "bound")
    values, withheld = [], ""
    for rounds in (0, 1, 2, 20, 80):
        try:
            bound = learner.bound(rounds=rounds)
        except ValueError as reason:
            withheld = str(reason)
            continue
        hold(math.isfinite(bound.value) and bound.value >= 0.0, f"a bound must be finite and >= 0; got {bound.value!r}")
        hold(bound.source, "a bound must name its source; got none")
        known = get_args(Against)
        hold(bound.against in known, f"a bound must hold against one of {known}; got {bound.against!r}")
        low, high = getattr(learner, "loss_range", (-math.inf, math.inf))
        most = rounds * (high - low) if rounds else 0.0
        hold(bound.value <= most * (1 + 1e-12), f"no regret of {rounds} rounds exceeds {most}; got {bound.value!r}")
        values.append(bound.value)
    hold(values == sorted(values), f"a bound must not fall with the rounds; got {values}")
    if not [value for value in values if value > 0.0]:
        skip(f"withheld: {withheld}" if withheld else "its bound is 0: there is nothing to choose")


#: Of laws too.
OF_VALUES: tuple[Check, ...] = (repr_can_be_pasted, equal_ones_hash_alike, it_is_frozen, json_goes_both_ways)
DESCRIPTION_CHECKS: tuple[Check, ...] = (*OF_VALUES, a_bound_is_stated_or_withheld)


def run_0_of_a_game_is_the_player(learner: Any) -> None:
    """`play(learner, losses, seed=5)` makes the moves of `learner.start(5)`, and pays what they cost."""
    taken, rounds = seat(learner, 5), 90
    game = taken.game(rounds)
    record = play(learner, **game, runs=1, seed=5, threads=1, keep="all")
    own, actions = 0.0, []
    for t in range(rounds):
        move = taken.player.act(taken.advice(t)) if isinstance(taken, AdvisedSeat) else taken.player.act()
        losses = taken.losses(t)
        taken.observe(move, losses)
        own += taken.paid(move, losses)
        actions.append(taken.action(move))
    paid = float(record.loss[0, -1]) if record.loss is not None else own
    near = abs(paid - own) <= 1e-9 * rounds * max(1.0, abs(taken.low), abs(taken.high))
    hold(near, f"run 0 must pay what the player pays, {own!r}; got {paid!r}")
    if record.actions is not None and not taken.apart:
        same = record.actions[0].tolist() == actions
        hold(same, "run 0 must make the moves of the player; it made others")


GAME_CHECKS: tuple[Check, ...] = (run_0_of_a_game_is_the_player,)


def a_seed_is_the_play(learner: Any) -> None:
    """The same seed makes the same moves; another one makes others, where there is a choice."""
    first = seat(learner, 7).run(0, 100)
    hold(first == seat(learner, 7).run(0, 100), "the same seed must make the same moves; it made others")
    if seat(learner).has_a_choice and _draws(learner):
        others = (seat(learner, other).run(0, 100) for other in (8, 9, 10))
        hold(any(run != first for run in others), "seeds must make different moves; four made the same")


def nobody_foresees_it_without_a_seed(learner: Any) -> None:
    """Two players without a seed make different moves: by what p says they agree by chance at most once in 1e6.

    100 moves are drawn while no loss has come, so that both stand at the same p."""
    one, two = seat(learner, None), seat(learner, None)
    if not one.has_a_choice:
        skip("it has one choice")
    if not _draws(learner):
        skip("it says that it draws nothing: its moves are known, and its bound is one of known moves")
    if getattr(learner, "own_noise", False):
        skip("the noise that it keeps decides its first moves")  # and may decide those of two players alike
    chance, same = 0.0, True
    for t in range(100):
        if not one.apart and not one.advised and hasattr(one.player, "distribution"):
            chance += math.log(float(np.square(one.player.distribution()).sum()))
        same &= bool(one.action(one.act(t)) == two.action(two.act(t)))
    if chance > math.log(1e-6) and not (one.apart or one.advised):
        skip(f"its first moves are nearly certain: two players agree by chance with probability {math.exp(chance):.3g}")
    hold(not same, "players without a seed must draw for themselves; two made the same 100 moves")


def a_seed_is_said(learner: Any) -> None:
    """A certificate says of a player with a seed that it has one, and of one without that it has none."""
    with_seed, without = seat(learner, 3).player, seat(learner, None).player
    needs(with_seed, "certificate")
    if not _draws(learner):
        skip("it says that it draws nothing, and a seed changes nothing")
    hold(with_seed.certificate().seeded, "the certificate must say that a seed was given; it does not")
    hold("of a seed that was given" in str(with_seed.certificate()), "the certificate must print that it has a seed")
    hold(not without.certificate().seeded, "the certificate must say that no seed was given; it says one was")
    hold("randomness" not in str(without.certificate()), "the certificate must print no seed where none was given")


def _draws(learner: Any) -> bool:
    """Whether its moves are drawn; a learner whose moves are not says `draws = False`."""
    return bool(getattr(learner, "draws", True))


SEED_CHECKS: tuple[Check, ...] = (a_seed_is_the_play, nobody_foresees_it_without_a_seed, a_seed_is_said)


def a_saved_player_resumes_exactly(learner: Any) -> None:
    """Killed at any round, with moves open, and loaded with resume="exact", it makes the moves that it would have."""
    _can_be_saved(learner)
    for cut in (0, 1, 37):
        never, killed = seat(learner, 4), seat(learner, 4)
        hold(never.run(0, cut) == killed.run(0, cut), "the same seed must make the same moves; it made others")
        kept = [never.act(t) for t in range(cut, cut + 3)]
        handed = [killed.act(t) for t in range(cut, cut + 3)]
        resumed = seat(learner, player=_through_a_file(killed.player, resume="exact"))
        hold(state(resumed.player) == state(killed.player), "a resumed player must be the one saved; the state differs")
        handed = [type(move).from_json(move.to_json()) if hasattr(move, "to_json") else move for move in handed]
        for i in (1, 0, 2):
            never.observe(kept[i], never.losses(i))
            resumed.observe(handed[i], resumed.losses(i))
        same = never.run(cut + 3, cut + 60) == resumed.run(cut + 3, cut + 60)
        hold(same, f"saved after {cut} rounds it must make the moves that it would have; it made others")
        if hasattr(never.player, "certificate"):
            _certifies_as(never.player, resumed.player, bool(getattr(learner, "draws", True)))


def _certifies_as(never: Any, resumed: Any, draws: bool) -> None:
    """The same certificate, and that there may be a twin: what is drawn from a file's stream, another can draw too."""
    told = resumed.certificate()
    says = getattr(told, "resumed", False)
    rule = "a certificate must say that there may be a twin, where moves are drawn and there alone"
    hold(says is draws, f'of resume="exact" {rule}; got resumed={says}, draws={draws}')
    same = never.certificate() == (dataclasses.replace(told, resumed=False) if draws else told)
    hold(same, "a resumed player must certify what it would have; the certificates differ")


def copies_are_players_of_their_own(learner: Any) -> None:
    """A plain load keeps all but the stream: two copies draw for themselves, honour the moves that were open once
    each, and refuse each other's."""
    _can_be_saved(learner)
    taken = seat(learner, 4)
    taken.run(0, 20)
    old = taken.act(20)
    one, two = (seat(learner, player=_through_a_file(taken.player)) for _ in range(2))
    names = {taken.player.id, one.player.id, two.player.id}
    hold(len(names) == 3, f"a copy must have an id of its own; got {sorted(names)}")
    if hasattr(taken.player, "distribution") and not taken.apart:
        same = (one.player.distribution() == taken.player.distribution()).all()
        hold(same, "a copy must stand where the player stood; p differs")
    new = one.act(21)
    for each in (one, two):
        each.observe(old, each.losses(20))
        refuses(lambda each=each: each.observe(old, each.losses(20)), "a move settled already")  # type: ignore[misc]
    two.act(21)
    refuses(lambda: two.observe(new, two.losses(21)), "a move of another copy")
    one.observe(new, one.losses(21))
    _draw_for_themselves(one, two)


def _draw_for_themselves(one: Seat, two: Seat) -> None:
    """100 moves of two copies: by what p says they agree by chance at most once in 1e6."""
    if one.apart or one.advised:
        return
    chance, same = 0.0, True
    for t in range(100):
        chance += float(np.log(np.square(one.player.distribution()).sum()))
        same &= bool(one.action(one.act(t)) == two.action(two.act(t)))
    hold(not same or chance > np.log(1e-6), "copies must draw for themselves; two made the same 100 moves")


def _can_be_saved(learner: Any) -> None:
    taken = with_tickets(learner)
    needs(taken.player, "save")
    try:
        known = saving.build(saving.describe(learner))
    except ValueError as reason:
        skip(f"{reason} (hannan.register makes a class of your own known to load)")
    hold(known == learner, f"a learner must come back from its description; got {known!r} of {learner!r}")


def _through_a_file(player: Any, resume: str | None = None) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "player.json"
        player.save(path)
        return load(path, resume=resume)


FILE_CHECKS: tuple[Check, ...] = (a_saved_player_resumes_exactly, copies_are_players_of_their_own)


def relabelled_arms_relabel_the_play(learner: Any) -> None:
    """Where all is seen: 60 rounds with the columns in another order. Of bandits: whatever arms were drawn, the p of
    those drawn and of the rest depends on when they were drawn alone, not on which they are."""
    taken = of_arms(learner)
    needs(taken.player, "distribution")
    if taken.advised:
        skip("its losses are told apart by the advice")
    if getattr(learner, "prior", None) is not None:
        skip("its prior tells the arms apart")
    if getattr(learner, "own_noise", False):
        skip("the noise that it keeps tells the arms apart")
    if taken.choices == 1:
        skip("it has one choice")
    if taken.full:
        _whole_rows(learner)
    elif getattr(getattr(learner, "estimator", None), "draws", False):
        skip("its estimates are drawn, so that equal paths differ")
    else:
        _paths(learner)


def _whole_rows(learner: Any) -> None:
    plain, turned = seat(learner), seat(learner)
    order = np.random.default_rng(3).permutation(plain.choices)
    for t in range(60):
        _same(turned.player.distribution(), plain.player.distribution()[order])
        row = plain.losses(t)
        plain.observe(plain.act(t), row)
        turned.observe(turned.act(t), row[order])


def _paths(learner: Any) -> None:
    """Losses depend on the round alone: two paths that differ in the names of the arms only have one p."""
    seen: dict[tuple[int, ...], Array] = {}
    met = 0
    for seed in range(60):
        taken = seat(learner, seed)
        drawn: list[int] = []
        for t in range(4):
            move = taken.act(t)
            drawn.append(int(taken.action(move)))
            taken.observe(move, taken.row(np.full(taken.choices, 0.2 + 0.2 * t)))
            shape, p = _shape(drawn, taken)
            met += shape in seen
            _same(p, seen.setdefault(shape, p))
    hold(met > 60, f"of 240 paths at least 60 should have met another of their shape; {met} did")


def _shape(drawn: list[int], taken: Seat) -> tuple[tuple[int, ...], Array]:
    """The path with its arms numbered as they came, and p in that order, the arms never drawn after them."""
    first = list(dict.fromkeys(drawn))
    rest = [arm for arm in range(taken.choices) if arm not in first]
    return tuple(first.index(arm) for arm in drawn), np.asarray(taken.player.distribution())[[*first, *rest]]


def _same(found: Array, right: Array) -> None:
    far = np.abs(found - right) - 1e-8 * right
    hold((far <= 1e-13).all(), f"relabelled arms must have the play relabelled; got {found}, not {right}")


SYMMETRY_CHECKS: tuple[Check, ...] = (relabelled_arms_relabel_the_play,)


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
    """(name, check) of every promise of the contract, for `pytest.mark.parametrize`.

    A check raises `Failed` where the learner breaks the promise, and `Skipped`, which pytest reports with its reason,
    where the learner offers nothing to hold to it.

    >>> import hannan as hn
    >>> dict(learner_checks(hn.Experts(3)))["a_seed_is_the_play"]()
    """
    return named(CHECKS, learner)


def check_learner(learner: Any) -> Report:
    """Hold a learner to the whole contract: a report of what passed and what was skipped, or `Failed`.

    >>> import hannan as hn
    >>> print(check_learner(hn.Dropout(3)))
    Dropout(3): 22 checks passed, 3 skipped
      bad_advice_is_refused: skipped, it takes no advice
      nobody_foresees_it_without_a_seed: skipped, the noise that it keeps decides its first moves
      relabelled_arms_relabel_the_play: skipped, the noise that it keeps tells the arms apart
    """
    return run(learner_checks(learner), learner)
