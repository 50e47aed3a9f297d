"""Hostile options, files and modules cause one line on standard error and exit code 2, without a traceback."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from hannan import extras
from hannan.cli import commands

MODULE = """
def boom(losses, rng): raise RuntimeError("boom")
def none(losses, rng): return None
def big(losses, rng): return 99
def quits(losses, rng): raise SystemExit(0)
def prints(losses, rng):
    print("hello")
    return 0
five = 5
"""
PLAY = ("play", "--rounds", "20", "--runs", "1", "--n", "3")
BOUND = ("bound", "--n", "3")
AUDIT = ("audit", "--n", "3", "--samples", "100")
EXACT = ("audit", "--n", "3", "--smoothing", "exponential")
COMBINE = ("combine", "t.csv", "--target", "y")
REPLAY = ("replay", "log.csv", "--action", "a", "--loss", "l")
ROUTE = ("route", "t.csv", "--learner", "exp3")
HUGE = "1000000000000"

INVALID = [
    (*PLAY, "--smoothing", "pareto:1e308"),
    (*PLAY, "--smoothing", "pareto:nan"),
    (*PLAY, "--smoothing", "gamma:-1"),
    (*PLAY, "--smoothing", "weibull:"),
    (*PLAY, "--scale", "5e-324"),
    (*PLAY, "--scale", "inf"),
    (*PLAY, "--best-loss", "nan"),
    (*PLAY, "--learner", "bandit", "--best-loss", "9"),
    (*PLAY, "--learner", "adahedge", "--scale", "9"),
    (*PLAY, "--learner", "experts:entropy", "--smoothing", "entropy"),
    (*PLAY, "--clip", "0.1"),
    (*PLAY, "--actions", "2"),
    (*PLAY, "--adversary", ""),
    ("play", "--n", HUGE, "--rounds", "20", "--runs", "1"),
    ("play", "--n", "3", "--rounds", HUGE, "--runs", "1"),
    ("play", "--n", "3", "--rounds", "20", "--runs", "100000000000"),
    ("play", "--n", "3", "--rounds", "20", "--runs", "9" * 30),
    (*BOUND, "--best-loss", "nan"),
    (*BOUND, "--best-loss", "-inf"),
    (*EXACT, "--scale", "1e308"),
    (*EXACT, "--scale", "nan"),
    ("audit", "--n", HUGE, "--smoothing", "entropy", "--scale", "2"),
    ("audit", "--n", "3", "--smoothing", "frechet:1e-308", "--scale", "2"),
    (*EXACT, "--scale", "2", "--gamma", "nan"),
    (*EXACT, "--scale", "2", "--delta", "2"),
    *((*AUDIT, f"hostile_learners:{name}") for name in ("boom", "none", "big", "quits", "five", "nothing")),
    *((*AUDIT, f"{name}:x") for name in ("fails_at_once", "quits_at_once", "is_no_python", "..", "a b", "\0")),
    (*AUDIT, "hostile_learners:prints", "--confidence", "1.5"),
    (*COMBINE, "--range", "0:inf"),
    (*COMBINE, "--range", "nan:1"),
    (*COMBINE, "--cap", "-1"),
    (*COMBINE, "--loss", "pinball:2"),
    (*COMBINE, "--delimiter", ""),
    (*COMBINE, "--delimiter", "\n"),
    (*COMBINE, "--delimiter", '"'),
    (*COMBINE, "--learner", "bandit", "--range", "0:1"),
    (*REPLAY, "--range", "0:1e308"),
    (*REPLAY, "--learner", "bandit:tsallis:nan"),
    (*REPLAY, "--actions", "0"),
    (*REPLAY, "--actions", "0,1,0"),
    (*REPLAY, "--learner", "exp3", "--learner", "exp3"),
    (*REPLAY, "--runs", "100000000000"),
    (*REPLAY, "--policy", "m=0:l", "--policy", "m=1:l"),
    (*REPLAY, "--policy", "m=0:l,0:a"),
    (*ROUTE, "--runs", "100000000000"),
    (*ROUTE, "--range", "0:1e-320"),
    (*ROUTE, "--learner", "exp4"),
    (*ROUTE, "--learner", "exp3", "--learner", "exp3"),
    ("route", "t.csv", "--skip", "a,b,y"),
    *(("combine", file, "--target", "y") for file in ("empty", "binary", "folder", "head", "zeros", "torn", "", "\0")),
    *(("route", file) for file in ("empty", "binary", "folder", "zeros", "torn", "nowhere", "/dev/null")),
    *((*BOUND, "--rounds", "9", "--out", out) for out in ("t.csv", "/dev/null/x", "\0", "a" * 300)),
    *((*ROUTE, "--runs", "1", "--out", out) for out in ("t.csv", "\0", "a" * 300)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here: Path = tmp_path_factory.mktemp("hostile")
    (here / "t.csv").write_text("a,b,y\n" + "".join(f"0.{t % 9}1,0.{t % 7}5,0.{t % 5}\n" for t in range(60)))
    (here / "log.csv").write_text("a,l\n" + "".join(f"{t % 2},0.{t % 9}\n" for t in range(60)))
    (here / "hostile_learners.py").write_text(MODULE)
    (here / "fails_at_once.py").write_text("raise RuntimeError('no')")
    (here / "quits_at_once.py").write_text("import sys; sys.exit(3)")
    (here / "is_no_python.py").write_text("def (")
    for name, content in {"empty": b"", "binary": bytes(range(256)), "head": b"a,y", "zeros": bytes(99)}.items():
        (here / name).write_bytes(content)
    (here / "torn").write_bytes(b"PAR1" + bytes(99))
    (here / "folder").mkdir()
    return here


@pytest.mark.parametrize("arguments", INVALID, ids=lambda arguments: " ".join(arguments)[:80].replace("\0", "NUL"))
def test_hostile_value_is_reported_on_one_line(
    arguments: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(os.listdir(folder))
    code = commands.run(list(arguments))
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    assert err.startswith("hannan: error: ")
    assert len(err.splitlines()) == 1
    assert set(os.listdir(folder)) - {"__pycache__"} == set(before) - {"__pycache__"}


@pytest.mark.parametrize("by", [(), ("--by", "u"), ("--by", "u", "--pooled")], ids=" ".join)
@pytest.mark.parametrize(
    ("cells", "loss", "expected"),
    [
        ("1e200,1,0", "absolute", "column 'a': a loss must be at most 1e+150 to avoid overflow; got 1e+200"),
        ("1e308,1,-1e308", "absolute", "column 'a': a loss must be at most 1e+150 to avoid overflow; got inf"),
        ("1,-1e200,0", "squared", "column 'b': a loss must be at most 1e+150 to avoid overflow; got inf"),
        ("1e308,-1e308,", "squared", ""),
    ],
)
def test_huge_values_are_reported_with_row_and_column(
    cells: str, loss: str, expected: str, by: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"u,a,b,y\n0,1,2,3\n0,{cells}\n0,1,2,3\n")
    more = by or ("--experts", "a,b")
    assert commands.run(["combine", str(file), "--target", "y", "--loss", loss, *more]) == (2 if expected else 0)
    err = capsys.readouterr().err
    assert expected in err
    assert ("row 2" in err) == bool(expected)


def test_huge_quantiles_are_reported_with_row_and_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a-lo-90,a-hi-90,b-lo-90,b-hi-90,y\n1,2,1,3,3\n-1e308,1e308,1,2,1\n")
    assert commands.run(["combine", str(file), "--target", "y"]) == 2
    assert "row 2, column 'a': a loss must be at most 1e+150" in capsys.readouterr().err


def test_output_of_the_audited_module_goes_to_standard_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert commands.run([*AUDIT, "hostile_learners:prints", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["subject"] == "hostile_learners:prints"
    assert "hello" in err


@pytest.mark.parametrize("name", ["", *commands.COMMANDS])
def test_every_help_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run([name, "--help"] if name else ["--help"]) == 0
    assert f"  hannan {name or 'play'} " in capsys.readouterr().out.split("Examples:")[1]


@pytest.mark.parametrize("broken", [False, True], ids=["absent", "broken"])
@pytest.mark.parametrize(
    "arguments",
    [PLAY, (*COMBINE, "--experts", "a,b"), ("route", "t.csv", "--runs", "1"), ("replay", "log.csv", "--action", "a",
     "--loss", "l")],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_results_are_saved_without_the_packages_for_plots(
    arguments: tuple[str, ...], broken: bool, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    if broken:  # installed, but the import fails
        (tmp_path / "altair.py").write_text("raise ImportError('a part of it is missing')")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "altair", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "altair", None)
    assert commands.run([*arguments, "--out", str(tmp_path / "out")]) == 0, capsys.readouterr().err
    assert f"no page: {extras.command('report')}" in capsys.readouterr().out
    kept = {path.name for path in (tmp_path / "out").iterdir()}
    assert kept & {"summary.json", "record.json"}
    assert not kept & {"index.html"}


def test_missing_packages_of_a_sweep_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('rounds = 5\nn = 2\nruns = 1\nlearners.a = "bandit"\nenvironments.e = "drifting"\n')
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert commands.run(["sweep", str(plan), "--out", str(tmp_path / "grid")]) == 2
    error = capsys.readouterr().err
    assert "pyarrow" in error
    assert extras.command("sweep") in error
