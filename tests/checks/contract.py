"""Properties that every learner of the package must have: `check(learner)` for each of PROPERTIES.

A row of LEARNERS for a new learner is all that it takes to hold it to them. `Seat` hides what differs
between the settings: what a loss looks like, and whether a move needs advice.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import hannan as hn
from hannan.players.player import packed


class Seat:
    """A player and the losses of its game, the same whatever it does."""

    def __init__(self, learner, seed=0, player=None):
        self.learner = learner
        self.player = player or learner.start(seed)
        self.full = self.player.sees_all
        self.advised = hasattr(learner, "experts")
        self.width = learner.loss_range[1] - learner.loss_range[0]

    @property
    def choices(self):
        return self.learner.actions if self.advised else self.learner.n

    def losses(self, t):
        row = np.random.default_rng([11, t]).random(self.choices)
        return self.learner.loss_range[0] + self.width * row

    def act(self, t):
        if not self.advised:
            return self.player.act()
        rng = np.random.default_rng([13, t])
        if t % 3 == 0:
            return self.player.act(rng.dirichlet(np.ones(self.choices), self.learner.experts))
        return self.player.act(rng.integers(self.choices, size=self.learner.experts))

    def observe(self, move, row):
        self.player.observe(move, row if self.full else float(row[move.action]))

    def step(self, t):
        move = self.act(t)
        self.observe(move, self.losses(t))
        return (move.round, move.action, move.probability)

    def run(self, start, stop):
        return [self.step(t) for t in range(start, stop)]


def content(player):
    """Everything that a saved file would hold."""
    return json.dumps(player._content())


def on_the_simplex(learner, path):
    seat = Seat(learner)
    for t in range(60):
        p = seat.player.distribution()
        # Those without a smoothing may drop an arm altogether.
        assert (p > 0.0).all() if hasattr(learner, "smoothing") else (p >= 0.0).all()
        assert abs(p.sum() - 1.0) < 1e-12
        _, action, probability = seat.step(t)
        assert 0 <= action < seat.choices
        assert 0.0 < probability <= 1.0


def same_seed_same_play(learner, path):
    assert Seat(learner, 7).run(0, 100) == Seat(learner, 7).run(0, 100)
    if Seat(learner).choices > 1 and getattr(learner, "experts", 2) > 1:
        assert Seat(learner, 7).run(0, 100) != Seat(learner, 8).run(0, 100)


def distribution_changes_nothing(learner, path):
    seat, other = Seat(learner), Seat(learner)
    for t in range(30):
        before = content(seat.player)
        first, second = seat.player.distribution(), seat.player.distribution()
        assert content(seat.player) == before
        assert (first == second).all()
        assert seat.step(t) == other.step(t)


def inputs_unchanged(learner, path):
    seat = Seat(learner)
    row = seat.losses(0)
    row.setflags(write=False)
    keep = row.copy()
    move = seat.act(0)
    seat.observe(move, row)
    assert (row == keep).all()
    # What the caller does to its array afterwards is its own business.
    changed = seat.losses(1)
    seat.observe(seat.act(1), changed)
    before = content(seat.player)
    changed[:] = 0.0
    assert content(seat.player) == before


def relabelling(learner, path):
    """Arms in another order are played as they were, in that order."""
    if hasattr(learner, "experts") or getattr(learner, "prior", None) or getattr(learner, "own_noise", False):
        return
    n = learner.n
    order = np.random.default_rng(3).permutation(n)
    plain, turned = learner.start(0), learner.start(0)
    for t in range(60):
        p, q = plain.distribution(), turned.distribution()
        np.testing.assert_allclose(q, p[order], rtol=1e-8, atol=1e-13)
        row = Seat(learner).losses(t)
        if plain.sees_all:
            plain.observe(plain.act(), row)
            turned.observe(turned.act(), row[order])
        else:
            # A likely arm, the same on both sides: what is drawn depends on the order, what is learnt does not.
            arm = int(np.argsort(p)[-1 - t % min(2, n)])
            _feed(plain, arm, row[arm])
            _feed(turned, int(np.flatnonzero(order == arm)[0]), row[arm])


def _feed(player, arm, loss):
    """Settle a round as if `arm` had been drawn."""
    player.act()
    state = player._saved()
    (ticket,) = state["open"]
    p = float(state["weights"][arm] / state["numbers"]["total"])
    ticket["move"], ticket["weight"] = ticket["move"]._replace(action=arm, probability=p), 1.0 / p
    player._restore(state)
    player.observe(ticket["move"], float(loss))


def save_and_load(learner, path):
    """A player killed at a random round plays on as one that never stopped, open moves included."""
    for cut in np.random.default_rng(5).integers(0, 120, size=3):
        never, killed = Seat(learner, 4), Seat(learner, 4)
        assert never.run(0, cut) == killed.run(0, cut)
        tickets = [(s, [s.act(t) for t in range(cut, cut + 3)]) for s in (never, killed)]
        (_, kept), (_, handed) = tickets
        killed.player.save(path)
        resumed = Seat(learner, player=hn.load(path, resume="exact"))
        assert content(resumed.player) == content(killed.player)
        handed = [hn.Move.from_json(move.to_json()) for move in handed]
        for i in (1, 0, 2):
            never.observe(kept[i], never.losses(i))
            resumed.observe(handed[i], resumed.losses(i))
        assert never.run(cut + 3, cut + 60) == resumed.run(cut + 3, cut + 60)
        assert packed(never.player._saved()) == packed(resumed.player._saved())
        assert never.player.certificate() == resumed.player.certificate()


def incarnations(learner, path):
    """A plain load keeps everything but the stream; two copies honour old tickets once, and not each other's."""
    seat = Seat(learner, 4)
    seat.run(0, 20)
    old = seat.act(20)
    seat.player.save(path)
    one, two = (Seat(learner, player=hn.load(path)) for _ in range(2))
    keep = everything_but_the_streams(seat.player)
    for copy in (one, two):
        assert everything_but_the_streams(copy.player) == keep
        assert copy.player.id.startswith(f"{seat.player.id}.")
        assert (copy.player.distribution() == seat.player.distribution()).all()
    streams = [word for s in (seat, one, two) for word in words_of(s.player)]
    assert len({*streams}) == len(streams)
    new = one.act(21)
    for copy in (one, two):
        copy.observe(old, copy.losses(20))
        with pytest.raises(ValueError, match="a move must be"):
            copy.observe(old, copy.losses(20))
    two.act(21)
    with pytest.raises(ValueError, match="a move must be of this player"):
        two.observe(new, two.losses(21))
    one.observe(new, one.losses(21))


def everything_but_the_streams(player):
    told = json.loads(content(player))
    state = {name: value for name, value in told["state"].items() if name not in ("stream", "noise")}
    return {**told, "state": state, "incarnation": ""}


def words_of(player):
    return [int(word) for word in player._words.ravel() if word]


def seeds(learner, path):
    """Without a seed the streams are fresh each time and no seed is kept; a seed is said in the certificate."""
    one, two = learner.start(), learner.start()
    streams = words_of(one) + words_of(two)
    assert len({*streams}) == len(streams)
    assert one.seed is None
    assert not one.certificate().seeded
    assert "randomness" not in str(one.certificate())
    one.save(path)
    assert hn.load(path).seed is None
    seeded = learner.start(seed=3)
    assert seeded.certificate().seeded
    for text in (str(seeded.certificate()), seeded.certificate()._repr_html_()):
        assert "of a seed that was given, for experiments" in text
    seeded.save(path)
    # Its first moves were drawn with the seed, whatever comes after.
    assert hn.load(path).certificate().seeded


def late_feedback(learner, path):
    """Feedback in any order; the ticket's own probability counts, and each is taken once."""
    seat = Seat(learner)
    moves = [seat.act(t) for t in range(6)]
    assert len(seat.player.open_moves) == 6
    for t in (3, 0, 5, 1):
        seat.observe(moves[t], seat.losses(t))
    seat.player.forget(moves[2])
    assert seat.player.open_moves == (moves[4],)
    seat.observe(moves[4], seat.losses(4))
    certificate = seat.player.certificate()
    assert (certificate.rounds, certificate.open_moves, certificate.forgotten) == (5, 0, 1)
    assert certificate.bound is None
    assert "forgotten" in certificate.withheld
    seat.run(6, 30)
    p = seat.player.distribution()
    assert abs(p.sum() - 1.0) < 1e-12


def tickets(learner, path):
    """Duplicate, foreign, settled and altered tickets are refused, and change nothing."""
    seat, stranger = Seat(learner), Seat(learner)
    settled = seat.act(0)
    seat.observe(settled, seat.losses(0))
    stranger.step(0)
    move, foreign = seat.act(1), stranger.act(1)
    assert settled.player != foreign.player
    before = content(seat.player)
    bad = [
        settled,
        foreign,
        move._replace(probability=move.probability / 2),
        move._replace(action=move.action + 1),
        move._replace(round=99),
        move._replace(round=0),
        move._replace(round=[1]),
        (),
        None,
        "ticket",
        7,
    ]
    for ticket in bad:
        for settle in (lambda m: seat.observe_anything(m), seat.player.forget):
            with pytest.raises(ValueError, match="a move must be"):
                settle(ticket)
    assert content(seat.player) == before
    seat.observe(move, seat.losses(1))
    with pytest.raises(ValueError, match="settled or forgotten already"):
        seat.observe(move, seat.losses(1))


def _observe_anything(seat, move):
    row = seat.losses(1)
    seat.player.observe(move, row if seat.full else float(row[0]))


Seat.observe_anything = _observe_anything


def bad_losses(learner, path):
    """Refused before any state changes: the saved state is identical before and after."""
    seat = Seat(learner)
    seat.run(0, 5)
    open_moves = [seat.act(5), seat.act(6)]
    low, high = learner.loss_range
    numbers = [np.nan, np.inf, -np.inf, low - 1e-9 * seat.width, high + 1e-9 * seat.width, "0.5", None, 1j]
    before = content(seat.player)
    for move in open_moves:
        for number in numbers:
            loss = [*seat.losses(0)[:-1], number] if seat.full else number
            with pytest.raises(ValueError):
                seat.player.observe(move, loss)
        shapes = [np.full(seat.choices + 1, low), np.full((1, seat.choices), low), [], "text"]
        for shape in shapes if seat.full else [*shapes, [low], np.full(3, low)]:
            with pytest.raises(ValueError):
                seat.player.observe(move, shape)
    assert content(seat.player) == before
    if seat.advised:
        n, k = learner.experts, learner.actions
        for advice in (
            np.full(n, k), np.full(n, -1), np.zeros(n + 1, int), np.zeros(n), np.full((n, k), 2.0 / k),
            np.full((n, k), np.nan), [], "up", None, np.full((n, k + 1), 1.0 / (k + 1)),
        ):  # fmt: skip
            with pytest.raises(ValueError):
                seat.player.act(advice)
        assert content(seat.player) == before


def ties_and_zeros(learner, path):
    """All-zero losses and ties keep the play where symmetry has it; losses of 1e-300 do no harm."""
    for value in (0.0, 1.0, 1e-300):
        seat = Seat(learner)
        start = seat.player.distribution()
        row = learner.loss_range[0] + seat.width * np.full(seat.choices, value)
        for t in range(50):
            seat.observe(seat.act(t), row)
        p = seat.player.distribution()
        assert np.isfinite(p).all()
        assert abs(p.sum() - 1.0) < 1e-12
        if seat.full and not getattr(learner, "own_noise", False):
            np.testing.assert_allclose(p, start, rtol=1e-9)


def the_worst_arm(learner, path):
    """An arm that always loses everything: no NaN, and probabilities that still sum to 1."""
    seat = Seat(learner)
    row = np.full(seat.choices, learner.loss_range[1 if learner.gains else 0])
    row[0] = learner.loss_range[0 if learner.gains else 1]
    for t in range(600):
        seat.observe(seat.act(t), row)
    p = seat.player.distribution()
    assert np.isfinite(p).all()
    assert (p >= 0.0).all()
    assert abs(p.sum() - 1.0) < 1e-12
    if not seat.advised and learner.n > 1:
        assert p[0] <= p[1:].min() * (1.0 + 1e-9)


def descriptions(learner, path):
    """`repr` can be pasted, JSON goes both ways, and it is hashable."""
    built = eval(repr(learner), vars(hn) | {name: getattr(hn, name) for name in hn.__all__})
    assert built == learner
    assert type(learner).from_json(learner.to_json()) == learner
    assert hash(built) == hash(learner)
    with pytest.raises(AttributeError):
        learner.smoothing = None


def certificates(learner, path):
    """The identity adds up, realised stability keeps the claim, and the table prints."""
    seat = Seat(learner)
    seat.run(0, 150)
    certificate = seat.player.certificate()
    assert certificate.rounds == 150
    assert (certificate.bound is None) == bool(certificate.withheld)
    if certificate.bound is not None:
        assert certificate.bound.value >= 0.0
    if seat.full:
        losses = np.array([seat.losses(t) for t in range(150)])
        totals = losses.sum(axis=0)
        best = totals.max() if learner.gains else totals.min()
        assert abs(certificate.best_loss - best) < 1e-9 * seat.width * 150
        gap = best - certificate.own_loss if learner.gains else certificate.own_loss - best
        assert abs(certificate.regret - gap) < 1e-9 * seat.width * 150
        if certificate.identity:
            assert abs(sum(certificate.identity.values()) - certificate.regret) < 1e-9 * seat.width
    else:
        assert certificate.regret is None
        assert np.isfinite(certificate.estimated_regret)
    if certificate.claimed_rate is not None:
        assert certificate.realised_level <= certificate.claimed_rate * (1 + 1e-6) + 1e-9
    assert "stability" in str(certificate)
    assert "<table" in certificate._repr_html_()


PROPERTIES = [
    on_the_simplex, same_seed_same_play, distribution_changes_nothing, inputs_unchanged, relabelling,
    save_and_load, incarnations, seeds, late_feedback, tickets, bad_losses, ties_and_zeros, the_worst_arm, descriptions,
    certificates,
]  # fmt: skip
