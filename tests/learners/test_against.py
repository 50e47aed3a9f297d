"""Adversary of each bound: a row for every learner of the package, the sentences, and their consequences."""

import dataclasses
import math

import numpy as np
import pytest
from against_rows import ROWS, T

import hannan as hn
from hannan.mathematics.bounds import ADVERSARIES, Bound
from hannan.players.certificate import EVERY_TIME


def _told(learner, **asked):
    """Number of rounds for which the bound is not the trivial one."""
    tuned = learner if isinstance(learner, hn.RandomPlayout) else getattr(learner, "tuning", None)
    rounds = getattr(tuned, "rounds", None)
    return learner.bound(rounds or 10**6, **asked)


def flat(told) -> str:
    """Return a text on one line."""
    return " ".join(str(told).split())


@pytest.mark.parametrize(("learner", "against", "sense", "proof"), ROWS, ids=lambda x: str(x)[:60])
def test_every_bound_states_its_adversary(learner, against, sense, proof):
    if against is None:
        with pytest.raises(hn.Withheld):
            _told(learner)
        return
    bound = _told(learner)
    assert (bound.against, bound.sense) == (against, sense)
    assert proof is None or bound.proof == proof
    assert str(bound).splitlines()[0].endswith(ADVERSARIES[against])
    assert _told(learner, against="iid") == bound
    if against == "iid":
        with pytest.raises(hn.Withheld, match="no non-trivial bound is proved against an oblivious adversary"):
            _told(learner, against="oblivious")
    else:
        assert _told(learner, against="oblivious") == bound
    if against == "any":
        assert _told(learner, against="any") == bound
    elif not (
        isinstance(getattr(learner, "estimator", None), hn.ImplicitExploration) or isinstance(learner, hn.PrivateBall)
    ):
        with pytest.raises(hn.Withheld, match="no non-trivial bound is proved against an adaptive adversary"):
            _told(learner, against="any")
    with pytest.raises(ValueError, match='against must be "adaptive"'):
        _told(learner, against="everybody")


@pytest.mark.parametrize("learner", [hn.Bandit(10), hn.exp3(10), hn.UCB1(10), hn.LBInf(10)], ids=repr)
@pytest.mark.parametrize("rounds", [5, 30, 1000, 10**6])
def test_trivial_bound_is_returned_if_no_smaller_one_is_proved(learner, rounds):
    """The trivial bound does not depend on the requested adversary: it holds on every run, or is not given."""
    least = learner.bound(rounds)
    assert (least.sense == "run") == (least.value == rounds)
    if least.sense == "run":
        assert learner.bound(rounds, against="any") == least
        return
    with pytest.raises(
        hn.Withheld, match=r"no non-trivial bound is proved against an adaptive adversary; [\d.e+]+ is proved"
    ):
        learner.bound(rounds, against="any")


def test_every_learner_has_a_row():
    public = [getattr(hn, name) for name in hn.__all__ if name != "sklearn"]
    learners = {cls for cls in public if isinstance(cls, type) and hasattr(cls, "bound") and cls is not hn.Record}
    learners -= {cls for cls in learners if not dataclasses.is_dataclass(cls) or issubclass(cls, hn.Bound)}
    # For BestLoss `bound` is the loss that it assumes; for a certificate of coverage it is a number.
    other = {hn.BestLoss, hn.CoverageCertificate}
    assert {cls.__name__ for cls in learners - other} == {type(row[0]).__name__ for row in ROWS}


def test_sentences_about_the_adversary():
    arm = hn.Bandit(8, hn.Entropy(), hn.Horizon(T)).bound().holds
    assert "if losses do not depend on your moves, for a horizon fixed in advance" in arm
    assert "max_i E[learner's loss - loss of arm i]" in arm
    assert "nothing is proved" in hn.RandomWalk(2).bound(20_000).holds
    assert "for the mean play on every loss sequence" in hn.Experts(8).bound(T).holds
    assert "even if a loss depends on the move" in hn.OnlineGradientDescent(hn.Ball(3), 1.0).bound(T).holds
    assert hn.Bandit(8).bound(3).holds.endswith(": on every run")  # no regret exceeds the number of rounds
    assert "one distribution" in Bound(1.0, {}, "", against="iid").holds


def test_gaps_and_assumptions_of_a_proof_are_stated():
    assert "checked numerically only" in flat(Bound(1.0, {}, "", proof="numerical"))
    for cls in (hn.Squint, hn.MLPoly, hn.AdaNormalHedge):
        assert "numerically" not in flat(cls(8).bound(10**6))
    late = hn.TsallisShannon(2).bound(rounds=10_000, missing=40_000)
    assert late.condition == "if delays depend neither on your moves nor on their losses"
    assert hn.TsallisShannon(2).bound(rounds=10_000).condition == "if no loss is late"


@pytest.mark.parametrize(
    "learner",
    [
        hn.Experts(8, hn.Exponential(), hn.BestLoss(100)),
        hn.Bandit(8, hn.Tsallis(0.5)),
        hn.Bandit(8, hn.LogBarrier(), hn.BestLoss(100, rounds=T)),
        hn.ExpertBandit(4, 8),
        hn.ExpertBandit(4, 8, clip="tuned"),
        hn.Convex(hn.Ball(3), 1.0, loss_bound=2.0),
    ],
    ids=lambda learner: str(learner)[:60],
)
def test_printed_bounds_are_cited_and_own_bounds_are_proved(learner):
    """Some printed forms are false as printed, so none of them may state that its proof is in the documentation."""
    bound = learner.bound(T, best_loss=100.0, printed=True)
    assert (bound.proof, bound.printed.proof) == ("whole", "published")


def test_unknown_adversary_is_rejected():
    for bad in ({"against": "all"}, {"proof": "folklore"}, {"sense": "common"}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
            Bound(1.0, {}, "", **bad)
    with pytest.raises(TypeError):
        Bound(1.0, {}, "", None, "", None, "whole")  # keyword-only
    assert [field.name for field in dataclasses.fields(Bound)][-2:] == ["against", "covers"]


def test_implicit_exploration_has_an_adaptive_bound():
    # 2 sqrt(2 n T ln n) against any losses; three quarters of it against oblivious ones.
    for n, rounds in ((2, 100), (8, 4000), (50, 10**5)):
        ix = hn.exp3_ix(n, rounds)
        root = 2.0 * math.sqrt(2.0 * n * rounds * math.log(n))
        anybody, fixed = ix.bound(against="any"), ix.bound()
        assert anybody.value == pytest.approx(min(root, rounds))
        assert fixed.value == pytest.approx(0.75 * root)
        assert ix.bound(against="oblivious") == fixed
        if root < rounds:
            assert (anybody.against, anybody.sense, anybody.proof) == ("any", "draws", "whole")
    law = hn.Bandit(8, hn.Exponential(), hn.Anytime(), hn.ImplicitExploration(0.02))
    exact = hn.Bandit(8, hn.Exponential(), hn.Anytime()).bound(T).value
    assert law.bound(T).value == pytest.approx(exact + 0.02 * 8 * T)
    assert law.bound(T, against="any").value == pytest.approx(exact + 0.02 * 8 * T + math.log(8) / 0.04)
    assert hn.exp3_ix(8, 4000).bound(against="any").value == pytest.approx(729.6, abs=0.1)


def test_records_store_the_adversary_of_the_bound(tmp_path):
    losses = np.random.default_rng(0).random((200, 3))
    record = hn.play(hn.Experts(3), losses)
    assert "even against an adaptive adversary" in flat(record)
    record.save(tmp_path / "r.npz")
    assert hn.Record.load(tmp_path / "r.npz").bound == record.bound
    told = dataclasses.asdict(record.bound)
    old = {name: told[name] for name in ("value", "terms", "source", "scale", "schedule", "printed")}
    assert Bound(**old).against == "oblivious"


def test_certificates_store_the_adversary_of_the_bound():
    player = hn.Bandit(4, hn.Entropy(), hn.Horizon(10**4)).start(seed=0)
    for _ in range(2000):
        player.observe(player.act(), 0.5)
    rows = dict(player.certificate().rows())
    assert rows["bound"].endswith("against an oblivious adversary")
    assert "if losses do not depend on your moves, otherwise at least the pseudo-regret" in rows["estimate"]
    assert "oblivious adversary" in player.certificate()._repr_html_()


def test_live_player_with_kept_noise_withholds_its_bound():
    # Charge the expert played last: RandomWalk(2) has regret 5,620 in 20,000 rounds, and its bound is 1,507.
    player, rounds, last = hn.RandomWalk(2).start(seed=0), 4000, 0
    paid, losses = 0.0, np.zeros(2)
    for _ in range(rounds):
        move, loss = player.act(), np.eye(2)[last]
        player.observe(move, loss)
        paid, losses, last = paid + loss[move.action], losses + loss, move.action
    certificate = player.certificate()
    assert paid - losses.min() > hn.RandomWalk(2).bound(rounds).value  # it would be false if it were printed
    assert certificate.bound is None
    assert "keeps its noise" in certificate.withheld
    # for fixed losses the bound holds
    assert hn.play(hn.RandomWalk(2), np.eye(2)[np.arange(rounds) % 2]).bound is not None


# Bounds on this run


def test_implicit_exploration_bounds_the_regret_of_this_run():
    # For every rule that sets the losses: here every arm loses 1 until .78 T, then the least likely arm has no loss.
    n, rounds, delta = 4, 600, 0.05
    above = 0
    for seed in range(20):
        player, losses, spared = hn.exp3_ix(n, rounds).start(seed=seed), np.zeros(n), None
        for t in range(rounds):
            if t == int(0.78 * rounds):
                spared = int(np.argmin(player.distribution()))
            loss = np.ones(n)
            if spared is not None:
                loss[spared] = 0.0
            move = player.act()
            player.observe(move, float(loss[move.action]))
            losses += loss
            if t % 50 == 49:
                told = player.certificate(delta)
                above += told.own_loss - losses.min() > told.on_this_run
    # 20 runs, each wrong with probability at most 0.05 at any time; seeds are fixed, so the result is always the same.
    assert above == 0
    gamma = hn.exp3_ix(n, rounds).estimator.gamma
    assert told.on_this_run == pytest.approx(told.estimated_regret + math.log(n / delta) / (2 * gamma))
    rows = dict(told.rows())
    assert f"with probability 0.95, {EVERY_TIME}" in rows["this run"]
    assert told.bound.against == "any"  # of the two numbers a live player prints the one that is guaranteed
    assert "this run" not in dict(player.certificate().rows())
    player.act()
    assert "1 pending move" in dict(player.certificate(delta).rows())["this run"]


def test_bound_on_this_run_is_in_the_units_of_the_losses():
    plain, wide = hn.exp3_ix(3, 50).start(seed=1), hn.exp3_ix(3, 50, loss_range=(-2.0, 8.0)).start(seed=1)
    for t in range(50):
        x = (t * 7 % 5) / 5
        plain.observe(plain.act(), x)
        wide.observe(wide.act(), -2.0 + 10.0 * x)
    assert wide.certificate(0.1).on_this_run == pytest.approx(10.0 * plain.certificate(0.1).on_this_run)


def test_other_players_state_the_reason_and_an_alternative():
    player = hn.Bandit(4).start(seed=0)
    player.observe(player.act(), 0.5)
    told = player.certificate(delta=0.05)
    assert told.on_this_run is None
    assert "use exp3_ix(4, rounds)" in dict(told.rows())["this run"]
    experts = hn.Experts(4).start(seed=0)
    for _ in range(100):
        experts.observe(experts.act(), [0.1, 0.2, 0.3, 1.0])
    told = experts.certificate(delta=0.05)
    assert told.on_this_run == pytest.approx(told.regret + math.sqrt(100 * math.log(20) / 2))
    for bad in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta must be"):
            experts.certificate(delta=bad)


def test_exp3_ix_is_bounded_with_high_probability():
    n, rounds, delta = 8, 4000, 0.05
    told = hn.exp3_ix(n, rounds).bound(delta=delta)
    root = math.sqrt(n * rounds / (2 * math.log(n)))
    assert told.value == pytest.approx(2 * math.sqrt(2 * n * rounds * math.log(n)) + (root + 1) * math.log(2 / delta))
    assert (told.against, told.sense, told.condition) == ("any", "likely", "with probability 0.95")
    assert str(told).startswith("regret <=")
    assert hn.exp3_ix(n, rounds).bound(10, delta=delta).sense == "run"
    for other in (hn.Bandit(8), hn.Bandit(8, hn.Entropy(), hn.Horizon(T), hn.ImplicitExploration(0.5))):
        with pytest.raises(hn.Withheld, match="exp3_ix"):
            other.bound(T, delta=delta)
    with pytest.raises(hn.Withheld, match="no bound is proved for"):
        hn.exp3_ix(n, rounds).bound(rounds + 1, delta=delta)


# Places that show a bound


def test_pictures_state_the_adversary():
    from hannan.games.record import regret_picture

    record = hn.play(hn.Bandit(3, hn.Entropy(), hn.Horizon(2000)), np.random.default_rng(0).random((2000, 3)))
    assert "against an oblivious adversary" in regret_picture(record, "regret").alt
    assert "against an oblivious adversary" in str(record.plot().to_dict()["title"]["subtitle"])


def test_commands_state_the_adversary():
    import json

    from click.testing import CliRunner

    from hannan.cli.bound import command

    asked = ["--learner", "bandit", "--smoothing", "entropy", "--tuning", "horizon", "--n", "4"]
    asked += ["--rounds", "5000", "--json"]
    told = json.loads(CliRunner().invoke(command, asked).stdout)
    assert told["bound"]["against"] == "oblivious"
    assert "pseudo-regret" in told["holds"]
    assert CliRunner().invoke(command, [*asked, "--against", "any"]).exit_code != 0
    experts = ["--learner", "experts", "--n", "4", "--rounds", "5000", "--against", "any"]
    assert "even against an adaptive adversary" in flat(CliRunner().invoke(command, experts).stdout)


def test_tables_of_games_state_the_adversary():
    rng = np.random.default_rng(0)
    routed = hn.route(rng.random((300, 3)), runs=2)
    told = {one["name"]: one["against"] for one in routed.to_dict()["learners"]}
    assert set(told.values()) <= {"any", "oblivious", None}
    assert "any" in told.values()
    assert "even against an adaptive adversary" in str(routed)
    frame = {"a": rng.random(50), "b": rng.random(50), "y": rng.random(50)}
    combined = hn.combine(frame, "y").summary
    assert combined.as_dict()["bound"]["against"] == "any"
    assert "for any targets and forecasts" in str(combined)
