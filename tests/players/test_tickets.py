"""Tickets of every player: late, foreign, altered, settled and forgotten tickets, before and after a file."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import hannan as hn

LEARNERS = [
    hn.Experts(4), hn.AdaHedge(4), hn.Squint(4), hn.Bandit(4), hn.Bandit(["red", "blue", "green"]), hn.LBInf(4, 400),
    hn.Green(4, rounds=400), hn.Exp3Light(4),
    hn.ExpertBandit(3, 5), hn.MYGA(3, 5, 50), hn.FPL(hn.MSets(6, 2), 2.0), hn.FPL(hn.MSets(6, 2), 9.0, "exponential"),
    hn.FPLTrix(hn.MSets(6, 2)), hn.Convex(hn.Ball(2), 1.0, loss_bound=2.0), hn.OnlineGradientDescent(hn.Ball(2), 1.0),
    hn.ExponentiatedGradient(hn.Simplex(3), 1.0),
]  # fmt: skip
EVERY = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)


def act(player, t):
    if hasattr(player.learner, "experts"):
        return player.act(np.random.default_rng(t).integers(0, player.learner.actions, player.learner.experts))
    return player.act()


def loss_of(player, move, t):
    rng = np.random.default_rng([7, t])
    if hasattr(player.learner, "domain"):
        z = rng.random(player.learner.domain.d)
        return hn.Logistic(z / np.linalg.norm(z), t % 2)
    if isinstance(move.action, tuple):
        row = rng.random(player.learner.n)
        return row if player.sees_all else row[list(move.action)]
    return rng.random(player.learner.n) if player.sees_all else float(rng.random())


def settle(player, move, t):
    player.observe(move, loss_of(player, move, t))


def run(player, first, last):
    moves = []
    for t in range(first, last):
        moves.append(act(player, t))
        settle(player, moves[-1], t)
    return moves


def content(player):
    return json.dumps(player.content())


@EVERY
def test_ticket_as_text_can_be_settled_later(learner):
    """Points of convex players had no text. The control: for another learner's text no point is created."""
    player = learner.start(1)
    move = act(player, 0)
    again = type(move).from_json(move.to_json())
    assert again == move
    assert type(again) is type(move)
    settle(player, again, 0)
    assert player.open_moves == ()
    for text in ("[]", "{", '{"player": "p"}', '{"round": 1, "action": [1], "other": 2}'):
        with pytest.raises(ValueError, match="must be JSON with player, round, action"):
            type(move).from_json(text)


@EVERY
def test_losses_come_late_and_in_any_order(learner):
    player = learner.start(1)
    run(player, 0, 5)
    assert player.certificate().largest_delay == 0
    moves = [act(player, t) for t in range(5, 11)]
    assert player.open_moves == tuple(moves)
    for k in (3, 0, 5, 1):
        settle(player, moves[k], 5 + k)
    assert player.open_moves == (moves[2], moves[4])
    late = player.certificate()
    assert (late.rounds, late.open_moves, late.forgotten, late.largest_delay) == (9, 2, 0, 5)
    player.forget(moves[2])
    settle(player, moves[4], 9)
    said = player.certificate()
    assert (said.rounds, said.open_moves, said.forgotten) == (10, 0, 1)
    assert said.bound is None
    assert said.withheld.startswith("1 move was dropped: the loss is unknown")
    assert "1 dropped" in str(said)
    run(player, 11, 30)


@EVERY
def test_bound_after_late_losses_covers_late_losses(learner):
    """The control: the same losses, each before the next move."""
    prompt, late = learner.start(1), learner.start(1)
    for player, apart in ((prompt, False), (late, True)):
        moves = []
        for t in range(20):
            moves.append(act(player, t))
            if not apart:
                settle(player, moves[t], t)
        if apart:
            for t in range(20):
                settle(player, moves[t], t)
    said, other = prompt.certificate(), late.certificate()
    assert said.rounds == other.rounds == 20
    assert "while another" not in said.withheld
    assert (
        other.bound is None
        or {"delay", "late"} & set(other.bound.source.split())
        or other.bound.value >= said.bound.value
    )
    if other.bound is None and said.bound is not None:
        assert "feedback was delayed" in other.withheld


@EVERY
def test_tickets_that_are_not_pending_are_rejected_without_a_change(learner):
    player, stranger = learner.start(1), learner.start(1)
    (settled,) = run(player, 0, 1)
    run(stranger, 0, 1)
    move, foreign, dropped = act(player, 1), act(stranger, 1), act(player, 2)
    player.forget(dropped)
    before = content(player)
    kind = type(move).__name__
    rules = [
        (settled, "round 1 has already been settled or dropped"),
        (dropped, "round 3 has already been settled or dropped"),
        (foreign, "belongs to another player"),
        (move._replace(action=(99,) if isinstance(move.action, tuple) else move.action + 1), "move was altered"),
        (move._replace(round=99), "not drawn a move in round 99"),
        (move._replace(round=0), "not drawn a move in round"),
        (move._replace(round=True), "not drawn a move in round"),
        (move._replace(round=[2]), "not drawn a move in round"),
        *((what, f"move must be the {kind} returned by act") for what in ((), None, "ticket", 7, move[:2])),
    ]
    for ticket, rule in rules:
        for use in (lambda m: player.observe(m, loss_of(player, move, 1)), player.forget):
            with pytest.raises(ValueError, match=rule):
                use(ticket)
    assert content(player) == before
    settle(player, move, 1)
    assert content(player) != before


@EVERY
@pytest.mark.parametrize("resume", [None, "exact"])
def test_ticket_is_settled_once_before_and_after_saving(learner, resume, tmp_path):
    """A ticket of this player is recognized, whatever its id is now; a ticket of a copy never is."""
    path, player = tmp_path / "player.json", learner.start(1, name="p")
    (old,) = run(player, 0, 1)
    waiting, forgotten = act(player, 1), act(player, 2)
    player.forget(forgotten)
    for generation in range(2):
        player.save(path)
        player = hn.load(path, resume=resume)
        assert player.earlier == () if resume else len(player.earlier) == generation + 1
        if generation == 0:
            settle(player, waiting, 1)
            (young,) = run(player, 3, 4)
    for ticket in (old, waiting, forgotten, young):
        with pytest.raises(ValueError, match=f"round {ticket.round} has already been settled or dropped"):
            settle(player, ticket, 1)
    copy, other = hn.load(path), hn.load(path)
    new = act(copy, 9)
    assert new.round == 5
    # The controls: a copy's own move, a move that the original drew after the file, and a move that was never drawn.
    for ticket in (new, new._replace(player="p", round=40), new._replace(player=player.id + "x", round=1)):
        with pytest.raises(ValueError, match="belongs to another player"):
            settle(other, ticket, 9)
    settle(copy, new, 9)


@EVERY
def test_saved_player_continues_bit_for_bit(learner, tmp_path):
    never, killed = learner.start(4), learner.start(4)
    assert [m[1:] for m in run(never, 0, 20)] == [m[1:] for m in run(killed, 0, 20)]
    kept, handed = ([act(player, t) for t in range(20, 23)] for player in (never, killed))
    killed.save(tmp_path / "player.json")
    resumed = hn.load(tmp_path / "player.json", resume="exact")
    assert content(resumed) == content(killed)
    assert resumed.open_moves == tuple(handed)
    for k in (1, 0, 2):
        settle(never, kept[k], 20 + k)
        settle(resumed, handed[k], 20 + k)
    assert [m[1:] for m in run(never, 23, 60)] == [m[1:] for m in run(resumed, 23, 60)]
    # Equal field by field, except that a player that continues a file's stream may have a twin.
    told = resumed.certificate()
    assert told.resumed is getattr(learner, "draws", True)
    assert never.certificate() == dataclasses.replace(told, resumed=False)


@EVERY
def test_certificates(learner):
    player = learner.start(1)
    assert player.certificate().rounds == 0
    run(player, 0, 40)
    said = player.certificate(delta=0.05)
    assert (said.bound is None) == bool(said.withheld)
    assert (said.regret is None) != (said.estimated_regret is None)
    if said.best_loss is not None:
        assert said.regret == pytest.approx(said.own_loss - said.best_loss, abs=1e-9)
    assert said.on_this_run_says
    assert type(learner).__name__ in str(said)
    assert "<table" in said._repr_html_()
    assert said.realised_level is None or "stability" in str(said)
    assert said.seeded == (not isinstance(learner, (hn.OnlineGradientDescent, hn.ExponentiatedGradient)))
    assert repr(player).endswith("40 rounds settled, 0 open>")


def test_the_regret_of_a_perturbed_leader_is_that_against_the_best_decision():
    decisions = hn.MSets(5, 2)
    player, losses = hn.FPL.tuned(decisions, 50).start(3), np.zeros(5)
    paid = 0.0
    for t in range(50):
        row = np.random.default_rng(t).random(5)
        plan = player.act()
        player.observe(plan, row)
        paid, losses = paid + row[list(plan.action)].sum(), losses + row
    said = player.certificate()
    assert said.best_loss == pytest.approx((decisions.every() @ losses).min())
    assert said.regret == pytest.approx(paid - said.best_loss)
    assert said.bound == player.learner.bound(50, said.best_loss, against="any")


def test_earlier_ids_are_kept_up_to_a_limit(tmp_path):
    from hannan.players.identity import MOST_EARLIER

    path, player = tmp_path / "player.json", hn.Bandit(2).start(1)
    first = player.act()
    player.observe(first, 0.5)
    for _ in range(MOST_EARLIER):
        player.save(path)
        player = hn.load(path)
        player.observe(player.act(), 0.5)
    assert len(player.earlier) == MOST_EARLIER
    with pytest.raises(ValueError, match="round 1 has already been settled"):
        player.observe(first, 0.5)
    player.save(path)
    player = hn.load(path)
    with pytest.raises(ValueError, match="belongs to another player"):
        player.observe(first, 0.5)


def test_move_objects_do_not_change_later():
    """A settled move that is not referenced elsewhere is reused for the next; a referenced one stays unchanged."""
    player, kept, said = hn.Bandit(4).start(0), [], []
    for t in range(300):
        move = player.act()
        if t % 3 == 0:
            kept.append(move)
            said.append(tuple(move))
        player.observe(move, 0.5)
    assert [tuple(move) for move in kept] == said
    assert [move.round for move in kept] == list(range(1, 301, 3))
    del kept
    # The control: if no move is referenced, few are ever created.
    few = set()
    for _ in range(100):
        move = player.act()
        few.add(id(move))
        player.observe(move, 0.5)
    assert len(few) <= 4
