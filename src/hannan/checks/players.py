"""Checks of players: distribution, moves, losses, certificates, and delayed feedback."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hannan.checks.report import Check, hold, needs, refuses, skip
from hannan.checks.settings import Seat, of_arms, seat, state, with_tickets
from hannan.validation import Array


def moves_are_valid(learner: Any) -> None:
    """Check that each move is an arm, decision or point of the game, with a probability in (0, 1]."""
    taken = seat(learner)
    for t in range(60):
        move = taken.act(t)
        hold(taken.possible(move), f"move must be valid in the game; got {move!r}")
        probability = getattr(move, "probability", 1.0)
        hold(0.0 < probability <= 1.0, f"the probability of a move must be in (0, 1]; got {probability!r}")
        taken.observe(move, taken.losses(t))


def move_probability_matches_distribution(learner: Any) -> None:
    """Check that p >= 0 sums to 1, and that each move has the probability given by p."""
    taken = _distributed(learner)
    for t in range(60):
        p = _simplex(taken)
        move = taken.act(t)
        if not taken.advised and hasattr(move, "probability"):
            said, right = float(move.probability), float(p[taken.action(move)])
            hold(math.isclose(said, right, rel_tol=1e-9), f"probability of the move must be {right!r}; got {said!r}")
        taken.observe(move, taken.losses(t))


def moves_follow_the_distribution(learner: Any) -> None:
    """Check that the counts of 400 moves are near the sums of p (Azuma-Hoeffding, false-alarm probability 1e-6)."""
    taken = _distributed(learner)
    if taken.advised:
        skip("the distribution is over experts, and the moves are actions")
    rounds, n = 400, taken.choices
    gap = np.zeros(n)
    for t in range(rounds):
        gap -= taken.player.distribution()
        move = taken.act(t)
        gap[taken.action(move)] += 1.0
        taken.observe(move, taken.losses(t))
    most = math.sqrt(rounds * math.log(2.0 * n / 1e-6) / 2.0)
    hold(
        np.abs(gap).max() <= most,
        f"counts of moves must differ by at most {most:.1f} from the sums of p; got {np.abs(gap).max():.1f}",
    )


def distribution_keeps_the_state(learner: Any) -> None:
    """Check that calling `distribution` does not change the state or the moves."""
    taken, other = _distributed(learner), seat(learner)
    for t in range(30):
        if t % 5 == 0:
            before = state(taken.player)
            first, second = taken.player.distribution(), taken.player.distribution()
            hold((first == second).all(), f"two calls of distribution must agree; got {first} and {second}")
            hold(state(taken.player) == before, "distribution must not change the state; the state changed")
        taken.player.distribution()
        hold(taken.step(t) == other.step(t), "distribution must not change the moves; the moves changed")


def losses_are_not_modified_or_kept(learner: Any) -> None:
    """Check that the player does not modify the losses it observes, and keeps no reference to them."""
    taken = seat(learner)
    row = taken.losses(0)
    if not isinstance(row, np.ndarray):
        skip("losses are functions, which cannot be modified")
    row.setflags(write=False)
    taken.observe(taken.act(0), row)
    changed = taken.losses(1)
    taken.observe(taken.act(1), changed)
    hold((changed == taken.losses(1)).all(), "losses must not be modified; they were")
    before = state(taken.player)
    changed[:] = taken.low
    hold(state(taken.player) == before, "losses must not be kept by reference; modifying them changed the player")


def invalid_losses_are_rejected(learner: Any) -> None:
    """Check that invalid losses raise a ValueError and leave the state unchanged."""
    taken = seat(learner)
    taken.run(0, 5)
    move = taken.act(5)
    before = state(taken.player)
    for what, loss in _bad(taken, move):
        refuses(lambda loss=loss: taken.player.observe(move, loss), f"a loss of {what}")  # type: ignore[misc]
    hold(state(taken.player) == before, "a rejected loss must not change the state; the state changed")
    taken.observe(move, taken.losses(5))


def _bad(taken: Seat, move: Any) -> list[tuple[str, Any]]:
    """Return pairs (description, invalid loss)."""
    if taken.points:
        return [("a number", 0.5), ("None", None), ("NaN", math.nan), ("text", "0.5")]
    good, low = taken.told(move, taken.losses(0)), taken.low
    numbers = [math.nan, math.inf, -math.inf, "0.5", None, 1j]
    if math.isfinite(sum(getattr(taken.learner, "loss_range", (0.0, 1.0)))) and _ranged(taken):
        numbers += [low - 1e-9 * taken.width, taken.high + 1e-9 * taken.width]
    shapes: list[Any] = [np.full(taken.choices + 1, low), np.full((1, taken.choices), low), [], "text"]
    if np.ndim(good) == 0:
        return [(repr(x), x) for x in (*numbers, *shapes, [low], np.full(3, low))]
    return [(f"{x!r} at the end", [*good[:-1], x]) for x in numbers] + [(repr(x), x) for x in shapes]


def _ranged(taken: Seat) -> bool:
    low, high = getattr(taken.learner, "loss_range", (0.0, 1.0))
    return (low, high) == (taken.low, taken.high)


def invalid_advice_is_rejected(learner: Any) -> None:
    """Check that invalid advice raises a ValueError and leaves the state unchanged."""
    taken = seat(learner)
    if not taken.advised:
        skip("the learner takes no advice")
    n, k = learner.experts, taken.choices
    before = state(taken.player)
    bad = [
        np.full(n, k), np.full(n, -1), np.zeros(n + 1, int), np.zeros(n), np.full((n, k), 2.0 / k),
        np.full((n, k), np.nan), [], "up", None, np.full((n, k + 1), 1.0 / (k + 1)),
    ]  # fmt: skip
    for advice in bad:
        refuses(lambda advice=advice: taken.player.act(advice), f"advice of {advice!r}")  # type: ignore[misc]
    hold(state(taken.player) == before, "rejected advice must not change the state; the state changed")


def equal_losses_keep_the_distribution(learner: Any) -> None:
    """Check losses that are all 0, 1 or 1e-300: p stays a distribution, and constant with full information."""
    for value in (0.0, 1.0, 1e-300):
        taken = _distributed(learner)
        start = taken.player.distribution()
        row = taken.row(np.full(taken.choices, value))
        for t in range(50):
            taken.observe(taken.act(t), row)
        p = _simplex(taken)
        if taken.full and not getattr(learner, "own_noise", False):
            moved = float(np.abs(p / start - 1.0).max())
            hold(moved < 1e-8, f"equal losses must not change p; the largest relative change is {moved:.3g}")


def worst_arm_is_least_likely(learner: Any) -> None:
    """Check 600 rounds in which one arm has all the losses: p must be smallest for that arm."""
    taken = _distributed(learner)
    lost = np.zeros(taken.choices)
    lost[0] = 1.0
    row = taken.row(1.0 - lost if taken.gains else lost)
    for t in range(600):
        taken.observe(taken.act(t), row)
    p = _simplex(taken)
    if not taken.advised and taken.choices > 1:
        hold(p[0] <= p[1:].min() * (1.0 + 1e-9), f"the arm that always loses must be the least likely; got p = {p}")


def certificate_is_consistent(learner: Any) -> None:
    """Check the number of rounds, the regret, its terms, the stability, and the bound or the reason for its absence."""
    taken = seat(learner)
    needs(taken.player, "certificate")
    rounds = 150
    own = 0.0
    for t in range(rounds):
        move = taken.act(t)
        taken.observe(move, taken.losses(t))
        own += taken.paid(move, taken.losses(t))
    said = taken.player.certificate()
    hold(said.rounds == rounds, f"a certificate must count {rounds} rounds; got {said.rounds}")
    hold(
        (said.bound is None) == bool(said.withheld),
        "a certificate must have either a bound or the reason why it is withheld",
    )
    prompt = not said.largest_delay and "was open while another" not in said.withheld
    hold(prompt, f"no loss came late, and a certificate must not say so; got {said.largest_delay}, {said.withheld!r}")
    hold(said.bound is None or said.bound.value >= 0.0, f"a bound must be >= 0; got {said.bound}")
    slack = 1e-9 * taken.width * rounds
    if said.regret is None:
        # A learner that may never play an arm again has no estimate for it.
        guess = said.estimated_regret
        hold(guess is None or math.isfinite(guess), f"an estimated regret must be finite; got {guess!r}")
        hold(abs(said.own_loss - own) <= slack, f"own_loss must be what was paid, {own!r}; got {said.own_loss!r}")
    else:
        gap = said.best_loss - said.own_loss if taken.gains else said.own_loss - said.best_loss
        hold(abs(said.regret - gap) <= slack, f"regret must be own loss less the best, {gap!r}; got {said.regret!r}")
        terms = math.fsum(said.identity.values()) if said.identity else said.regret
        hold(abs(terms - said.regret) <= slack, f"the identity must sum to the regret {said.regret!r}; got {terms!r}")
    if said.best_loss is not None and not taken.apart:
        totals = np.sum([taken.losses(t) for t in range(rounds)], axis=0)
        best = float(totals.max() if taken.gains else totals.min())
        hold(abs(said.best_loss - best) <= slack, f"best_loss must be {best!r}; got {said.best_loss!r}")
    if said.claimed_rate is not None:
        kept = said.realised_level <= said.claimed_rate * (1 + 1e-6) + 1e-9
        hold(kept, f"the realised level must be at most {said.claimed_rate!r}; got {said.realised_level!r}")
    hold(str(said) and "<table" in said._repr_html_(), "a certificate must print as text and as an HTML table")


def _distributed(learner: Any) -> Seat:
    """Return the adapter of a player that has `distribution`."""
    taken = of_arms(learner)
    needs(taken.player, "distribution")
    return taken


def _simplex(taken: Seat) -> Array:
    p: Array = np.asarray(taken.player.distribution())
    hold(np.isfinite(p).all() and (p >= 0.0).all(), f"p must be finite and >= 0; got {p}")
    hold(abs(p.sum() - 1.0) < 1e-9, f"p must sum to 1; got {p.sum()!r}")
    return p


PLAYER_CHECKS: tuple[Check, ...] = (
    moves_are_valid,
    move_probability_matches_distribution,
    moves_follow_the_distribution,
    distribution_keeps_the_state,
    losses_are_not_modified_or_kept,
    invalid_losses_are_rejected,
    invalid_advice_is_rejected,
    equal_losses_keep_the_distribution,
    worst_arm_is_least_likely,
    certificate_is_consistent,
)


def delayed_losses_are_accepted(learner: Any) -> None:
    """Check losses in any order: pending moves are listed, and the bound covers the delay or is withheld."""
    taken = with_tickets(learner)
    moves = [taken.act(t) for t in range(6)]
    for k, t in enumerate((3, 0, 5, 1, 4, 2)):
        if hasattr(taken.player, "open_moves"):
            opened = len(taken.player.open_moves)
            hold(opened == 6 - k, f"open_moves must list {6 - k} moves; got {opened}")
        taken.observe(moves[t], taken.losses(t))
    if hasattr(taken.player, "certificate"):
        said = taken.player.certificate()
        hold((said.rounds, said.open_moves) == (6, 0), f"6 rounds are settled and none open; got {said}")
        hold(said.largest_delay == 5, f"5 moves were open when the last was drawn; got {said.largest_delay}")
        hold(said.bound is None or said.bound.value >= 0.0, f"a bound must be >= 0; got {said.bound}")
    taken.run(6, 30)
    if hasattr(taken.player, "distribution") and not taken.apart:
        p = taken.player.distribution()
        hold(np.isfinite(p).all() and abs(p.sum() - 1.0) < 1e-9, f"p must sum to 1 after late losses; got {p}")


def dropped_move_withholds_the_bound(learner: Any) -> None:
    """Check that a move without feedback can be dropped, and that the bound is then withheld."""
    taken = with_tickets(learner)
    needs(taken.player, "forget", "certificate")
    taken.run(0, 3)
    taken.player.forget(taken.act(3))
    taken.run(4, 8)
    said = taken.player.certificate()
    counts = (said.rounds, said.open_moves, said.forgotten)
    hold(counts == (7, 0, 1), f"7 rounds are settled, none open and 1 forgotten; got {counts}")
    hold(said.bound is None and "dropped" in said.withheld, f"the bound must be withheld; got {said.bound}")


def move_is_settled_once(learner: Any) -> None:
    """Check that settled, foreign, altered and invented moves raise a ValueError and leave the state unchanged."""
    taken, stranger = with_tickets(learner), seat(learner)
    settled = taken.act(0)
    taken.observe(settled, taken.losses(0))
    stranger.step(0)
    move, foreign = taken.act(1), stranger.act(1)
    bad = [("a settled move", settled), ("a move of another player", foreign)]
    bad += [(f"the invalid move {thing!r}", thing) for thing in ((), None, "ticket", 7)]
    if hasattr(move, "_replace"):
        bad += [("a move of a future round", move._replace(round=99)), ("a move of round 0", move._replace(round=0))]
        bad.append(("a move of the round [1]", move._replace(round=[1])))
        if hasattr(move, "probability"):
            bad.append(("a move of another probability", move._replace(probability=move.probability / 2)))
        bad.append(("a move of another action", move._replace(action=_other(move.action))))
    losses, before = taken.told(move, taken.losses(1)), state(taken.player)
    for what, ticket in bad:
        refuses(lambda ticket=ticket: taken.player.observe(ticket, losses), what)  # type: ignore[misc]
        if hasattr(taken.player, "forget"):
            refuses(lambda ticket=ticket: taken.player.forget(ticket), what)  # type: ignore[misc]
    hold(state(taken.player) == before, "a rejected move must not change the state; the state changed")
    taken.observe(move, taken.losses(1))
    refuses(lambda: taken.player.observe(move, losses), "a move that has just been settled")


def _other(action: Any) -> Any:
    return (*action, action[-1]) if isinstance(action, tuple) else action + 1


FEEDBACK_CHECKS: tuple[Check, ...] = (
    delayed_losses_are_accepted,
    dropped_move_withholds_the_bound,
    move_is_settled_once,
)
