"""Files and numbers of earlier versions (tests/corpus): they open, continue, and give the same results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import corpus
import numpy as np
import pytest
from database import database, why_not

import hannan as hn

FOLDER = Path(__file__).parent.parent / "corpus" / "0.2"
FACTS = json.loads((FOLDER / "facts.json").read_text())


def same(found, expected):
    if isinstance(expected, list):  # points of a numerical solver
        return np.allclose(found, expected, rtol=0.0, atol=1e-7)
    return found == expected


@pytest.mark.parametrize("name", FACTS["players"])
def test_saved_player_continues(name):
    player = hn.load(FOLDER / "players" / f"{name}.json", resume="exact")
    assert len(player.open_moves) == 3
    assert same(corpus.played(player, 40, 9), FACTS["players"][name])


@pytest.mark.parametrize("name", [name for name in FACTS["players"] if name != "explore-then-commit"])
def test_control_other_feedback_gives_other_moves(name):
    """Negative control: the digest depends on the feedback (explore-then-commit ignores it after exploring)."""
    player = hn.load(FOLDER / "players" / f"{name}.json", resume="exact")
    assert not same(corpus.played(player, 40, 10), FACTS["players"][name])


@pytest.mark.parametrize("name", FACTS["fleets"])
def test_saved_fleet_continues(name):
    fleet = hn.Fleet.load(FOLDER / "fleets" / f"{name}.fleet", resume="exact")
    facts = FACTS["fleets"][name]
    assert len(fleet) == facts["keys"]
    assert f"{facts['open']} open" in repr(fleet)
    assert corpus.fleet_played(fleet, 10, 9) == facts["moves"]


@pytest.mark.parametrize("name", [name for name in FACTS["combiners"] if name != "quantiles"])
def test_saved_combiner_continues(name):
    assert corpus.combiner_digests(hn.Combiner.load(FOLDER / "combiners" / f"{name}.json")) == FACTS["combiners"][name]


def test_saved_combiner_of_quantiles_continues():
    combiner = hn.Combiner.load(FOLDER / "combiners" / "quantiles.json")
    assert combiner.answer(99, [4.0, 5.0, 6.0, 4.5, 5.5, 6.5]).tolist() == FACTS["combiners"]["quantiles"]["answer"]


def check_store(store, facts):
    """Settle every pending ticket once; settled ones do not count again; an id gives the ticket of 0.2."""
    for ticket in facts["settled"]:
        assert store.observe(ticket, **corpus.feedback_for(ticket, store)) is False
    for ticket in facts["pending"]:
        assert store.observe(ticket, **corpus.feedback_for(ticket, store)) is True
        assert store.observe(ticket, **corpus.feedback_for(ticket, store)) is False
    assert [store.act("ad", id="ad-3").ticket] == facts["ad"]


@pytest.mark.parametrize("name", ["closed", "killed"])
def test_store_in_sqlite_opens(name, tmp_path):
    shutil.copy(FOLDER / "stores" / f"{name}.db", tmp_path / "store.db")
    facts = FACTS["stores"][name]
    with hn.Store(tmp_path / "store.db") as store:
        check_store(store, facts)
        assert {n: store.certificate(n).rounds for n in facts["rounds"]} == facts["rounds"]
    with hn.Store(tmp_path / "store.db") as store:  # written by this version, and opened again
        assert store.observe(facts["pending"][0], **corpus.feedback_for(facts["pending"][0], store)) is False
        assert store.act("banner").probability > 0


def test_store_with_changed_defaults_accepts_the_same_code(tmp_path):
    """Version 0.2 tuned these learners otherwise: its journal replays, and its code adds them again."""
    shutil.copy(FOLDER / "stores" / "changed.db", tmp_path / "store.db")
    facts = FACTS["stores"]["changed"]
    for _ in range(2):  # from the journal of 0.2, then from the snapshot of this version
        with hn.Store(tmp_path / "store.db") as store:
            corpus.add_changed(store)
            learners = {stored.name: stored.learner for stored in store.queue.contents.learners}
            assert isinstance(learners["tsallis"].estimator, hn.ImportanceWeighted)
            assert learners["tsallis"].tuning == learners["places"].tuning == hn.Horizon(1000)
            # sqrt(v T/(2 G)) with v = 2 sqrt n and G = 2 (sqrt n - 1).
            old = (1000 * 3**0.5 / (2 * 3**0.5 - 2)) ** 0.5
            assert learners["reduced"].tuning.scale == pytest.approx(old, rel=1e-12)
            assert {name: store.certificate(name).rounds for name in facts} in (
                dict.fromkeys(facts, 40), dict.fromkeys(facts, 41),
            )  # fmt: skip
            for name, (ticket, probability) in facts.items():
                assert store.queue.signer.parse(ticket).probability == probability
                store.observe(ticket, **{"reward" if name == "reduced" else "loss": 0.5})
            store.act("places")
            for other in (hn.Bandit(["red", "blue"], tuning=hn.Horizon(999)), hn.Bandit(["red", "blue"])):
                with pytest.raises(ValueError, match="'tsallis'"):  # control: every other learner is rejected
                    store.add("tsallis", other)
    with hn.Store(tmp_path / "new.db") as store:  # control: a new store plays the new default
        store.add("tsallis", corpus.CHANGED["tsallis"]())
        assert isinstance(store.queue.contents.learners[0].learner.estimator, hn.ReducedVariance)
        with pytest.raises(ValueError, match="'tsallis'"):
            store.add("tsallis", hn.Bandit(["red", "blue"], hn.Tsallis(0.5), hn.Horizon(1000)))


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_store_in_postgresql_opens():
    import psycopg

    lines = (FOLDER / "stores" / "postgres.sql").read_text().splitlines()
    # \restrict and \unrestrict are commands of psql, not SQL.
    script = "\n".join(line for line in lines if not line.startswith(("\\", "--", "SELECT pg_catalog.set_config")))
    with database() as server:
        with psycopg.connect(server.address, autocommit=True) as connection:
            connection.execute(script)
        with hn.Store(server.address) as store:
            check_store(store, FACTS["stores"]["postgres"])


def test_games_and_bounds_equal_those_of_0_2():
    """Moves are equal bit for bit; a bound may become smaller, never larger."""
    for name, found in corpus.games().items():
        expected = FACTS["games"][name]
        assert {k: found[k] for k in ("game", "player") if k in expected} == {
            k: expected[k] for k in ("game", "player") if k in expected
        }, name
        if expected.get("bound") is not None:
            assert found["bound"] <= expected["bound"] * (1 + 1e-9), name


def test_combinations_are_the_same():
    assert corpus.combinations() == FACTS["combinations"]
