"""`hannan evidence` prints the panel of a store file, which another process may have open, and writes nothing to it."""

from __future__ import annotations

import json
import sqlite3

import pytest

import hannan as hn
from hannan.cli import commands


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.db"


def filled(path, **options):
    store = hn.Store(path, **options)
    store.add("banner", hn.EpsilonGreedy(["red", "blue"], 0.5, gains=True))
    for k in range(600):
        move = store.act("banner", k % 3)
        if k % 100:
            store.observe(move.ticket, reward=float(move.arm == "red"))
    return store


def call(capsys, *arguments):
    code = commands.run([str(one) for one in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_command_agrees_with_the_open_store_and_writes_nothing(capsys, path, tmp_path):
    with filled(path) as store:
        expected = store.evidence("banner", alpha=0.1)
        code, out, err = call(capsys, "evidence", path, "banner", "--alpha", "0.1", "--json")
        found = json.loads(out)
        assert (code, err, found.pop("name"), found.pop("out")) == (0, "", "banner", None)
        assert found == expected.to_dict()
    before = path.read_bytes()
    assert call(capsys, "evidence", path, "banner", "--out", tmp_path / "panel")[0] == 0
    assert path.read_bytes() == before
    assert json.loads((tmp_path / "panel/evidence.json").read_text())["best"] == "red"
    assert "<svg" in (tmp_path / "panel/index.html").read_text()


def test_panel_states_its_error_probability(capsys, path):
    filled(path).close()
    code, out, _ = call(capsys, "evidence", path, "banner")
    assert code == 0
    assert "banner: 600 decisions since" in out
    assert "red has been the best so far (sure since " in out
    assert "6 pending, counted as best case and as worst case" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("missing.db", "banner"), ("no such file", "missing.db")),
        (("a.db", "banana"), ("banana", "banner")),
        (("a.db", "banner", "--alpha", "1.5"), ("alpha", "1.5")),
        (("other.db", "banner"), ("other.db", "not a store")),
        (("text.db", "banner"), ("text.db", "not a store")),
    ],
)
def test_invalid_arguments_are_rejected(capsys, path, monkeypatch, arguments, words):
    monkeypatch.chdir(path.parent)
    with hn.Store(path) as store:
        store.add("banner", hn.Bandit(2))
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE x (y)")
    other.close()
    (path.parent / "text.db").write_text("nothing")
    code, out, err = call(capsys, "evidence", *arguments)
    assert (code, out) == (2, "")
    assert all(word in err for word in words)
    assert not (path.parent / "missing.db").exists()
