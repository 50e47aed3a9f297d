"""The live player: tickets, late feedback, certificates, and files that are damaged or interrupted."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hannan as hn
from hannan import saving


def play(player, losses):
    for row in losses:
        player.observe(player.act(), row)
    return player


ROWS = np.random.default_rng(8).random((400, 5))


# The play itself, against a transcription of the algorithms


@pytest.mark.parametrize("tuning", [hn.Fixed(3.0), hn.Anytime(), hn.SelfConfident(), hn.Horizon(400)], ids=repr)
def test_hedge_equals_its_definition(tuning):
    learner = hn.Experts(5, hn.Entropy(), tuning)
    player, total, own = learner.start(0), np.zeros(5), 0.0
    for t, row in enumerate(ROWS, start=1):
        weights = np.exp(-(total - total.min()) / learner.schedule().scale(t, own))
        p = weights / weights.sum()
        np.testing.assert_allclose(player.distribution(), p, rtol=1e-11)
        player.observe(player.act(), row)
        own += float(p @ row)
        total += row
    assert player.certificate().regret == pytest.approx(own - total.min(), abs=1e-9)


def test_gumbel_ftpl_equals_hedge_and_exp3():
    for build in (hn.Experts, hn.Bandit):
        one, two = build(5, hn.Gumbel(), hn.Anytime()).start(2), build(5, hn.Entropy(), hn.Anytime()).start(2)
        for row in ROWS[:100]:
            a, b = one.act(), two.act()
            assert a[1:] == b[1:]
            loss = row if build is hn.Experts else float(row[a.action])
            one.observe(a, loss)
            two.observe(b, loss)


def test_bandit_uses_importance_weighting():
    learner = hn.Bandit(5, hn.Tsallis(0.5))
    player, estimates = learner.start(0), np.zeros(5)
    for t, row in enumerate(ROWS[:100], start=1):
        p = hn.FTRL(hn.Tsallis(0.5), learner.schedule().scale(t, 0.0)).gradient(estimates)
        np.testing.assert_allclose(player.distribution(), p, rtol=1e-9)
        move = player.act()
        player.observe(move, float(row[move.action]))
        estimates[move.action] += row[move.action] / p[move.action]
    own = player.certificate().own_loss
    assert player.certificate().estimated_regret == pytest.approx(own - estimates.min(), rel=1e-9)


def test_exp4_equals_its_definition():
    """Distributions and actions as advice, with and without clipping."""
    for clip in (0.0, 0.2):
        player = hn.ExpertBandit(3, 5, hn.Entropy(), hn.Fixed(7.0), clip=clip).start(3)
        rng, charged = np.random.default_rng(0), np.zeros(5)
        for t in range(80):
            p = np.exp(-(charged - charged.min()) / 7.0)
            p /= p.sum()
            np.testing.assert_allclose(player.distribution(), p, rtol=1e-10)
            if t % 2:
                shares = rng.dirichlet(np.ones(3), 5)
                move = player.act(shares)
            else:
                actions = rng.integers(3, size=5)
                shares = np.eye(3)[actions]
                move = player.act(actions)
            q = hn.clip(p @ shares, clip)
            assert move.probability == pytest.approx(q[move.action], rel=1e-9)
            loss = float(rng.random())
            player.observe(move, loss)
            charged += shares[:, move.action] * loss / q[move.action]


def test_units_do_not_change_the_moves():
    plain = hn.Experts(5).start(4)
    wide = hn.Experts(5, loss_range=(-4.0, 4.0)).start(4)
    gains = hn.Experts(5, gains=True).start(4)
    for row in np.round(ROWS[:100] * 64) / 64:
        moves = plain.act(), wide.act(), gains.act()
        assert len({move[1:3] for move in moves}) == 1
        plain.observe(moves[0], row)
        wide.observe(moves[1], 8.0 * row - 4.0)
        gains.observe(moves[2], 1.0 - row)
    one, eight, gain = plain.certificate(), wide.certificate(), gains.certificate()
    assert eight.regret == pytest.approx(8 * one.regret)
    assert eight.bound.value == pytest.approx(8 * one.bound.value)
    assert eight.own_loss == pytest.approx(8 * one.own_loss - 400)
    assert gain.own_loss == pytest.approx(100 - one.own_loss)
    assert gain.best_loss == pytest.approx(100 - one.best_loss)
    assert gain.regret == pytest.approx(one.regret)


def test_integers_lists_and_numpy_numbers_are_accepted_as_losses():
    experts, bandit = hn.Experts(2).start(0), hn.Bandit(2).start(0)
    for row in ([0, 1], (0.5, 0.25), np.array([1, 0]), np.array([0.5, 1.0], dtype=np.float32), ROWS[::2, :2][0]):
        experts.observe(experts.act(), row)
    for loss in (0, 1, np.float64(0.5), np.float32(0.25), np.int64(1), np.array(0.5)):
        bandit.observe(bandit.act(), loss)
    assert experts.certificate().rounds == 5
    assert bandit.certificate().own_loss == pytest.approx(3.25)


# Late feedback


def test_weights_of_a_settlement_are_those_of_the_ticket():
    player = hn.Bandit(3, hn.Entropy(), hn.Fixed(2.0)).start(1)
    first = player.act()
    for _ in range(40):
        move = player.act()
        player.observe(move, 1.0)
    p_now = player.distribution()[first.action]
    before = player.losses[first.action]
    player.observe(first, 0.75)
    assert first.probability != pytest.approx(p_now)
    assert player.losses[first.action] - before == pytest.approx(0.75 / first.probability)


@pytest.mark.parametrize("tuning", [hn.Fixed(2.0), hn.Anytime(), hn.SelfConfident()], ids=repr)
@pytest.mark.parametrize("smoothing", [hn.Entropy(), hn.Exponential(), hn.Tsallis()], ids=repr)
def test_the_identity_holds_with_late_feedback(smoothing, tuning):
    """Own loss is <p of the ticket, l>; the identity is exact here as well."""
    player = hn.Experts(5, smoothing, tuning).start(0)
    rng = np.random.default_rng(3)
    waiting, own, total = [], 0.0, np.zeros(5)
    for row in ROWS[:150]:
        p = player.distribution()
        waiting.append((player.act(), p, row))
        while waiting and rng.random() < 0.6:
            move, p, late = waiting.pop(rng.integers(len(waiting)))
            assert move.probability == pytest.approx(p[move.action], rel=1e-12)
            player.observe(move, late)
            own += float(p @ late)
            total += late
    certificate = player.certificate()
    assert certificate.open_moves == len(waiting)
    assert certificate.regret == pytest.approx(own - total.min(), abs=1e-9)
    assert sum(certificate.identity.values()) == pytest.approx(certificate.regret, abs=1e-9)


def test_late_feedback_withholds_the_bound():
    late = hn.Experts(5, tuning=hn.Fixed(20.0)).start(0)
    waiting = []
    for row in ROWS:
        waiting.append((late.act(), row))
        if len(waiting) == 3:
            late.observe(*waiting.pop(0))
    certificate = late.certificate()
    assert certificate.largest_delay == 2
    assert "2 late" in certificate.bound.source
    assert certificate.regret <= certificate.bound.value
    for learner in (hn.Experts(5), hn.Bandit(5), hn.Bandit(5, hn.Entropy(), hn.Fixed(9.0))):
        player = learner.start(0)
        player.observe(player.act(), ROWS[0] if isinstance(learner, hn.Experts) else 0.5)
        player.act()
        assert player.certificate().bound is not None  # a single open move is not late
        player.act()
        assert player.certificate().bound is None
        assert "feedback was delayed" in player.certificate().withheld


def test_delayed_regret_is_within_the_delay_bound():
    """A greedy adversary with d losses always missing, exactly: the worst found stays within the bound."""
    for delay in (1, 4):
        learner = hn.Experts(3, hn.Exponential(), hn.Fixed(6.0))
        player, total, waiting = learner.start(0), np.zeros(3), []
        candidates = np.vstack([np.eye(3), 1 - np.eye(3)])
        for _ in range(200):
            p = player.distribution()
            row = candidates[int(np.argmax(candidates @ p - (total + candidates).min(axis=1)))]
            total += row
            waiting.append((player.act(), row))
            if len(waiting) > delay:
                player.observe(*waiting.pop(0))
        for move, row in waiting:
            player.observe(move, row)
        certificate = player.certificate()
        assert certificate.largest_delay == delay
        assert certificate.bound.value >= certificate.regret
        assert certificate.bound.value == learner.bound(200, total.min(), delay=delay).value


@pytest.mark.parametrize("tuning", [hn.Fixed(2.0), hn.Anytime(), hn.SelfConfident()], ids=repr)
@pytest.mark.parametrize("smoothing", [hn.Entropy(), hn.Exponential(), hn.Tsallis()], ids=repr)
def test_pending_moves_keep_their_distribution(smoothing, tuning, tmp_path):
    """After any sequence of draws, settlements, drops and files: the stored numbers of a move, or the present ones."""
    player = hn.Experts(4, smoothing, tuning).start(0)
    rng = np.random.default_rng(11)
    drawn_from, numbered, bare = {}, 0, 0
    for _ in range(500):
        step = rng.random()
        if step < 0.5 or not player.open_moves:
            p = player.distribution()
            drawn_from[player.act().round] = p
        elif step < 0.85:
            player.observe(player.open_moves[rng.integers(len(player.open_moves))], rng.random(4))
        elif step < 0.9:
            with pytest.raises(ValueError, match=r"1\.5"):
                player.observe(player.open_moves[0], np.array([0.0, 1.5, 0.0, 0.0]))
        elif step < 0.97:
            player.forget(player.open_moves[rng.integers(len(player.open_moves))])
        else:
            player.save(tmp_path / "player")
            player = hn.load(tmp_path / "player", resume="exact")
        state = player._saved()
        now = state["weights"] / state["numbers"]["total"]
        for ticket in state["open"]:
            own = ticket["numbers"]
            numbered, bare = numbered + (own is not None), bare + (own is None)
            assert (drawn_from[ticket["move"].round] == (now if own is None else own)).all()
    assert numbered > 100
    assert bare > 100


@pytest.mark.parametrize("tuning", [hn.Fixed(2.0), hn.Anytime(), hn.SelfConfident()], ids=repr)
@pytest.mark.parametrize("order", ["oldest first", "newest first", "random", "half settled, half drawn"])
def test_late_settlement_visits_each_pending_move_once(order, tuning):
    """The work per settlement does not increase with the number of open moves.

    The control counts the work of a loop over all open moves at every settlement.
    """
    for count in (200, 2000):
        player = hn.Experts(3, hn.Entropy(), tuning).start(0)
        moves, walked = [player.act() for _ in range(count)], 0
        places = {"newest first": np.arange(count)[::-1], "random": np.random.default_rng(1).permutation(count)}
        for k in places.get(order, np.arange(count)):
            walked += len(moves) - 1 if order != "half settled, half drawn" else len(player.open_moves) - 1
            player.observe(moves[k], np.array([0.5, 0.1, 0.9]))
            if order == "half settled, half drawn":
                player.act()
        assert player._visited <= player.round
        assert walked > 50 * player.round


def test_twenty_thousand_pending_moves():
    player = hn.Experts(3, hn.Entropy(), hn.Anytime()).start(0)
    moves = [player.act() for _ in range(20_000)]
    for move in moves[::-1]:
        player.observe(move, np.array([0.5, 0.1, 0.9]))
    assert player.certificate().rounds == 20_000
    assert not player.open_moves


def test_player_continues_beyond_its_horizon_without_a_bound():
    player = play(hn.Experts(5, tuning=hn.Horizon(50)).start(0), ROWS[:50])
    assert player.certificate().bound is not None
    play(player, ROWS[50:51])
    assert "no bound is proved for" in player.certificate().withheld


# Certificates


def test_printed_certificates_have_their_lines():
    text = str(play(hn.Experts(5, tuning=hn.Anytime()).start(0), ROWS[:20]).certificate())
    for word in ("20 rounds", "expected regret <=", "start", "end", "drift", "scale changes", "D_inf", "claimed"):
        assert word in text
    bandit = hn.Bandit(2).start(0)
    bandit.observe(bandit.act(), 0.5)
    text = " ".join(str(bandit.certificate()).split())
    assert "its expectation is at least the expected regret if losses do not depend on your moves" in text
    assert "not a bound on this run" in text
    assert "D_inf,1.5" in text
    assert "no claim" in str(hn.Experts(3, hn.Gaussian(), hn.Fixed(1.0)).start(0).certificate())


def test_identity_needs_the_scale_changes():
    """Anytime Hedge, N=5, T=500: without the terms of the scale changes, the identity is off by more than ten."""
    rows = np.random.default_rng(0).random((500, 5))
    certificate = play(hn.Experts(5, hn.Entropy(), hn.Anytime()).start(0), rows).certificate()
    assert sum(certificate.identity.values()) == pytest.approx(certificate.regret, abs=1e-9)
    assert abs(certificate.identity["scale changes"]) > 10


@pytest.mark.parametrize("smoothing", [hn.Entropy(), hn.Exponential(), hn.Tsallis(), hn.Laplace()], ids=repr)
def test_the_identity_holds_over_many_rounds(smoothing):
    rows = np.random.default_rng(1).random((5000, 5))
    certificate = play(hn.Experts(5, smoothing).start(0), rows).certificate()
    assert sum(certificate.identity.values()) == pytest.approx(certificate.regret, abs=1e-9)


# Files


def test_damaged_files_are_rejected_by_name(tmp_path):
    path = tmp_path / "player.json"
    player = play(hn.Experts(5).start(0), ROWS[:10])
    player.act()
    player.save(path)
    good = path.read_text()
    outer = json.loads(good)
    edited = dict(outer, content=outer["content"].replace('"seed":"0"', '"seed":"1"'))
    assert edited != outer
    wrong_format = dict(outer, format="hannan/999")
    damaged = {
        "torn": good[: len(good) // 2],
        "empty": "",
        "edited": json.dumps(edited),
        "format": json.dumps(wrong_format),
        "no checksum": json.dumps({"content": outer["content"]}),
        "a list": "[]",
        "one bit": good.replace("a", "b", 1),
        "text": "hello",
    }
    for name, text in damaged.items():
        target = tmp_path / f"{name}.json"
        target.write_text(text)
        with pytest.raises(ValueError, match=name):
            hn.load(target)
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="binary"):
        hn.load(binary)
    with pytest.raises(FileNotFoundError):
        hn.load(tmp_path / "absent.json")
    other = tmp_path / "other.json"
    saving.write(other, {"kind": "something else"})
    with pytest.raises(ValueError, match=r"other\.json.*player"):
        hn.load(other)
    saving.write(other, {**json.loads(outer["content"]), "state": "00" * 8})
    with pytest.raises(ValueError, match=r"other\.json cannot be resumed"):
        hn.load(other)


def test_failed_write_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch):
    path = tmp_path / "player.json"
    player = play(hn.Bandit(5).start(0), [])
    player.save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    player.observe(player.act(), 0.5)
    with pytest.raises(OSError, match="disk full"):
        player.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["player.json"]


def test_saved_file_is_text_without_code(tmp_path):
    path = tmp_path / "player.json"
    play(hn.Experts(5).start(0, name="north"), ROWS[:3]).save(path)
    content = json.loads(json.loads(path.read_text())["content"])
    assert content["name"] == "north"
    assert content["learner"]["class"] == "Experts"
    assert hn.load(path, resume="exact").id == "north"
    assert hn.load(path).id.startswith("north.")


KILLED = """
import sys, numpy as np, hannan as hn
path = sys.argv[1]
player = hn.Bandit(4, hn.Exponential()).start(6, name="k")
rows = np.random.default_rng(2).random((100000, 4))
for t in range(100000):
    move = player.act()
    player.observe(move, float(rows[t, move.action]))
    player.save(path)
    if t == 5:
        print("ready", flush=True)
"""


def test_killed_process_leaves_a_complete_file(tmp_path):
    """The process is killed during a save in every round.

    The file loads, and the player continues as if uninterrupted.
    """
    path = tmp_path / "player.json"
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline().strip() == "ready"
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    resumed = hn.load(path, resume="exact")
    done = resumed.round
    assert done >= 6
    never = hn.Bandit(4, hn.Exponential()).start(6, name="k")
    rows = np.random.default_rng(2).random((done + 50, 4))
    for t in range(done):
        move = never.act()
        never.observe(move, float(rows[t, move.action]))
    for t in range(done, done + 50):
        one, two = never.act(), resumed.act()
        assert one == two
        never.observe(one, float(rows[t, one.action]))
        resumed.observe(two, float(rows[t, two.action]))
    assert never.content() == resumed.content()


def test_package_never_uses_pickle():
    source = Path(hn.__file__).parent
    files = [*(source / "players").glob("*.py"), *(source / "saving").glob("*.py")]
    assert len(files) > 10
    for file in files:
        text = file.read_text()
        for word in ("pickle", "eval(", "exec(", "marshal"):
            assert word not in text


# Long games


def test_a_hundred_thousand_rounds_of_the_worst_arm():
    """Probabilities stay finite and sum to 1; one is zero only below 1e-300."""
    for smoothing in (hn.Entropy(), hn.Tsallis()):
        player = hn.Bandit(3, smoothing).start(0)
        act, observe = player.act, player.observe
        losses = (1.0, 0.0, 0.0)
        for _ in range(100_000):
            move = act()
            observe(move, losses[move[2]])
        p = player.distribution()
        assert np.isfinite(p).all()
        assert abs(p.sum() - 1) < 1e-12
        assert (p > 0).all()


@pytest.mark.parametrize(
    "smoothing", [hn.Entropy(), hn.Exponential(), hn.Tsallis(), hn.LogBarrier(), hn.Frechet(2.0)], ids=repr
)
def test_extreme_totals(smoothing):
    """L up to 1e7, as after 1e7 rounds of the worst arm: no NaN, sums to 1, zero only below 1e-300."""
    player = hn.Experts(4, smoothing, hn.Fixed(2.0)).start(0)
    for totals in ([0.0, 1e7, 1e7, 1e7], [1e7, 1e7, 1e7, 1e7 - 1], [0.0, 1e-300, 1e3, 1e7], [3.0, 3.0, 3.0, 3.0]):
        player._put(np.array(totals))
        p = player.distribution()
        assert np.isfinite(p).all()
        assert abs(p.sum() - 1.0) < 1e-12
        if isinstance(smoothing, (hn.Tsallis, hn.LogBarrier, hn.Frechet)):
            assert (p > 0.0).all()
        move = player.act()
        player.observe(move, np.array([0.0, 1.0, 1e-300, 0.5]))
        assert np.isfinite(player.distribution()).all()


def test_level_of_one_step_is_attained():
    """Exponential FTPL attains its level: L_i >= min of the others, D_inf = 1/scale (section on exact levels)."""
    player = hn.Experts(2, hn.Exponential(), hn.Fixed(4.0)).start(0)
    player.observe(player.act(), [1.0, 0.0])
    assert player.certificate().realised_level == pytest.approx(0.25, rel=1e-9)
    assert player.certificate().claimed_rate == pytest.approx(0.25)
    assert math.isclose(player.distribution()[1], 1 - 0.5 * math.exp(-0.25))


#: A learner for each way in which a step is diagnosed.
DIAGNOSED = [
    hn.Bandit(5),
    hn.Bandit(5, hn.Tsallis(0.5)),
    hn.Bandit(5, hn.Tsallis(0.5), hn.Fixed(3.0)),
    hn.Bandit(5, hn.Tsallis(0.7), estimator=hn.ReducedVariance()),
    hn.Bandit(5, hn.LogBarrier(), hn.SelfConfident(80)),
    hn.Bandit(5, hn.LogBarrier(), hn.SelfConfident(80), estimator=hn.ReducedVariance()),
    hn.Bandit(5, hn.Exponential()),
    hn.Bandit(5, hn.Entropy(), hn.Horizon(80)),
    hn.Experts(5, hn.Entropy(), hn.Horizon(80)),
    hn.Experts(5, hn.Entropy()),
    hn.Experts(5, hn.Exponential()),
    hn.Experts(5, hn.Tsallis(0.5), hn.Anytime()),
]


@pytest.mark.parametrize("learner", DIAGNOSED, ids=repr)
def test_the_level_is_the_largest_divergence_of_a_step(learner):
    """D(p, q)/span of lhat over the steps, with q the play for the losses after a step at the scale before it."""
    player, rng, level = learner.start(3), np.random.default_rng(8), 0.0
    gamma = learner.setup().gamma
    kind = hn.FTPL if isinstance(learner.smoothing, hn.Law) else hn.FTRL
    for _ in range(80):
        before, phi = player.losses, kind(learner.smoothing, player.state()["numbers"]["scale"])
        move = player.act()
        player.observe(move, rng.random(5) if player.sees_all else float(rng.random()))
        p, q, lhat = phi.gradient(before), phi.gradient(player.losses), player.losses - before
        span = float(np.ptp(lhat))
        if span >= 1e-3:
            level = max(level, float((hn.tsallis_log(p, gamma) - hn.tsallis_log(q, gamma)).max()) / span)
    assert player.certificate().realised_level == pytest.approx(level, rel=1e-6)


@pytest.mark.parametrize("learner", DIAGNOSED, ids=repr)
def test_every_term_of_the_identity_equals_its_definition(learner):
    """Each term is compared on its own.

    In the sum, an error of Phi at the scale before a step cancels (once in a drift, once in a change).
    """
    player, rng, drifts, changes = learner.start(3), np.random.default_rng(8), 0.0, 0.0
    kind = hn.FTPL if isinstance(learner.smoothing, hn.Law) else hn.FTRL
    phi = first = kind(learner.smoothing, player.state()["numbers"]["scale"])
    for _ in range(80):
        before = player.losses
        player.observe(player.act(), rng.random(5) if player.sees_all else float(rng.random()))
        now, old, phi = player.losses, phi, kind(learner.smoothing, player.state()["numbers"]["scale"])
        drifts += old.gradient(before) @ (now - before) - (old.value(now) - old.value(before))
        changes += old.value(now) - phi.value(now)
    kept = player.state()["numbers"]
    told = {"start": first.value(np.zeros(5)), "value": phi.value(player.losses), "drift": drifts, "change": changes}
    for name, term in told.items():
        assert kept[name] == pytest.approx(term, rel=1e-9, abs=1e-9), name
