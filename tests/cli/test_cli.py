"""The command line prints JSON only on request, and reports an error of the user on one line."""

from __future__ import annotations

import copy
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from hannan import __version__
from hannan.cli import main
from hannan.cli.commands import COMMANDS, hannan

OURS = ("reproduce", "play", "audit", "bound")
PRIVACY = ("privacy", "--d", "3", "--rounds", "9")
EXACT = ("audit", "--smoothing", "exponential", "--scale", "2", "--n", "3")


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    out, err = capsys.readouterr()
    code = left.value.code
    assert isinstance(code, int)
    return code, out, err


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return the JSON of a command that must succeed and print nothing else."""
    code, out, err = call(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize("command", OURS)
def test_help_has_an_example_and_the_common_options(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, _ = call(capsys, command, "--help")
    assert code == 0
    assert f"hannan {command} " in out.split("Examples:")[1]
    for option in ("--json", "--seed", "--out"):
        assert option in out


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "--help")
    assert code == 0
    assert all(name in out for name in OURS)
    assert "_HANNAN_COMPLETE" in out
    code, out, _ = call(capsys, "--version")
    assert (code, out) == (0, f"hannan {__version__}\n")


def test_help_names_the_commands_without_the_common_options(capsys: pytest.CaptureFixture[str]) -> None:
    common = {"--json", "--seed", "--out"}
    taken = {}
    for name in COMMANDS:
        _, out, _ = call(capsys, *(("sweep", "run") if name == "sweep" else (name,)), "--help")
        taken[name] = common & set(out.split())
    others = {name: options for name, options in taken.items() if options != common}
    assert others == {"serve": {"--json"}, "store": set()}
    said = " ".join(call(capsys, "--help")[1].split())
    assert "All commands except serve and store accept --json" in said
    assert "the plan's, else 0" in " ".join(call(capsys, "sweep", "run", "--help")[1].split())


@pytest.mark.parametrize("command", ["combine", "serve"])
def test_options_are_listed_under_headings(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """Every option is under one heading; a control option without a heading is still shown."""
    cli = importlib.import_module(f"hannan.cli.{command}").command
    named = [name for names in cli.groups.values() for name in names]
    options = {option.opts[0] for option in cli.params if isinstance(option, click.Option)}
    assert len(named) == len(set(named))
    assert options - set(named) <= {"--json"}
    out = call(capsys, command, "--help")[1]
    assert all(out.count(f"\n  {name} ") + out.count(f"\n  {name}\n") == 1 for name in options)
    assert list(cli.groups) == [heading for heading in re.findall(r"^(\w.*):$", out, re.M) if heading in cli.groups]
    cli = copy.copy(cli)
    cli.groups = dict(list(cli.groups.items())[1:])
    help_text = cli.get_help(click.Context(cli))
    assert "Other options:" in help_text
    assert named[0] in help_text


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("play", "--n", "3", "--adversary", "swiching"), "switching"),
        (("privacy", "--learner", "privat-experts"), "private-experts"),
        (("combine", "forecasts.csv", "--crossing", "srot"), "sort"),
        (("pley",), "play"),
    ],
)
def test_errors_suggest_the_closest_name(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], meant: str
) -> None:
    code, _, error = call(capsys, *arguments)
    assert code == 2
    assert f"Did you mean {meant!r}?" in error


def test_summaries_are_not_truncated_and_options_have_help(capsys: pytest.CaptureFixture[str]) -> None:
    summaries = call(capsys, "--help")[1].split("Forecasts:")[1].split("Examples:")[0]
    assert "..." not in summaries
    for name in COMMANDS:
        command = hannan.get_command(click.Context(hannan), name)
        assert command is not None
        commands = list(command.commands.values()) if isinstance(command, click.Group) else [command]
        for one in [command, *commands]:
            summary = one.get_short_help_str(limit=1000)
            assert 0 < len(summary) <= 60, summary
            assert "Examples:" in str(one.epilog)
            for option in one.params:
                if isinstance(option, click.Option):
                    assert option.help, (one.name, option.name)
                    assert "?" not in option.help


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from hannan.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'rich', 'altair', 'pandas', 'vl_convert'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_shell_completion() -> None:
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run(
            [sys.executable, "-c", "from hannan.cli import main; main()"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "_HANNAN_COMPLETE": f"{shell}_source"},
        )
        assert "_HANNAN_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("nothing",), "no such command"),
        (("combin",), "no such command 'combin'. Did you mean 'combine'?"),
        (("play", "--n", "3", "--learner", "bandt"), "Did you mean 'bandit'?"),
        (("play",), "Missing option"),
        (("play", "--n", "0"), "--n"),
        (("play", "--n", "3", "--learner", "oracle"), "learner must be one of"),
        (("play", "--n", "3", "--adversary", "kind"), "--adversary must be one of"),
        (("play", "--n", "3", "--tuning", "fixed"), "--scale is required"),
        (("play", "--n", "3", "--learner", "expert-bandit"), "actions (--actions) is required"),
        (("bound", "--n", "3", "--smoothing", "pareto:x"), "parameter after a colon must be a number"),
        (("bound", "--n", "3", "--smoothing", "magic"), "smoothing must be one of"),
        (("bound", "--n", "3", "--smoothing", "gaussian", "--rounds", "9"), "unbounded hazard"),
        (("bound", "--n", "3"), "is required"),
        (("bound", "--n", "3", "--best-loss", "nan"), "--best-loss must be a finite number; got nan"),
        (("play", "--n", "3", "--best-loss", "inf"), "--best-loss must be a finite number; got inf"),
        (PRIVACY, "--epsilon and --scale is required; got neither"),
        ((*PRIVACY, "--epsilon", "1", "--scale", "2"), "is required; got --epsilon 1 and --scale 2"),
        ((*PRIVACY, "--epsilon", "1", "--smooth", "1"), "--accuracy is required"),
        (("audit", "--n", "3"), "--smoothing and MODULE:NAME is required; got neither"),
        (("audit", "--n", "3", "--smoothing", "exponential"), "--scale is required"),
        (("audit", "--n", "3", "--smoothing", "exponential", "--scale", "-1"), "scale must be"),
        ((*EXACT, "--level", "0.1"), "--level applies only to an audit of MODULE:NAME; got --level 0.1"),
        ((*EXACT, "--samples", "40000"), "got --samples 40000"),
        ((*EXACT, "--confidence", "0.9"), "got --confidence 0.9"),
        ((*EXACT, "--rounds", "3"), "got --rounds 3"),
        (("audit", "m:x", "--n", "3", "--scale", "2"), "got --scale 2 with MODULE:NAME"),
        (("audit", "m:x", "--n", "3", "--gamma", "2"), "got --gamma 2 with MODULE:NAME"),
        (("audit", "no_such_module:x", "--n", "3"), "cannot import module 'no_such_module'"),
        (("audit", "json:nothing", "--n", "3"), "module json has no attribute 'nothing'"),
        (("audit", "json", "--n", "3"), "MODULE:NAME"),
        (("reproduce", "--only", "thm:nothing"), "no claim with label or name 'thm:nothing'"),
        (("reproduce", "--only", "triangle", "--as-printed", "nothing"), "no correction 'nothing'"),
    ],
)
def test_invalid_arguments_are_reported_on_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert expected in err
    assert err.startswith("hannan: error: ")
    assert len(err.splitlines()) == 1


def test_unwritable_folder_is_reported_on_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = call(capsys, "bound", "--n", "3", "--best-loss", "9", "--out", str(tmp_path / "file" / "below"))
    assert code == 2
    assert len(err.splitlines()) == 1


def test_bound(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = result_of(capsys, "bound", "--learner", "experts", "--n", "10", "--best-loss", "100", "--out", str(tmp_path))
    assert round(data["bound"]["value"], 1) == 21.6
    assert round(data["bound"]["printed"]["value"], 1) == 167.7
    assert data["bound"]["source"].startswith("thm:analysis_experts")
    assert json.loads((tmp_path / "bound.json").read_text()) == data
    _, out, _ = call(capsys, "bound", "--learner", "bandit", "--n", "10", "--rounds", "1000")
    assert "expected regret <=" in out
    assert "as printed in the paper" in out


@pytest.mark.parametrize(
    ("arguments", "value"), [(("exp3",), 105.3), (("hedge",), 26.3), (("exp4", "--actions", "3"), 91.2)], ids=str
)
def test_rounds_tune_the_named_algorithms(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], value: float
) -> None:
    """As hn.exp3(4, 1000). The controls: a scale or a tuning is given."""
    asked = ("bound", "--n", "4", "--rounds", "1000", "--learner", *arguments)
    data = result_of(capsys, *asked)
    assert "tuning=Horizon(rounds=1000)" in data["learner"]
    assert round(data["bound"]["value"], 1) == value
    assert "Fixed(scale=9.0)" in result_of(capsys, *asked, "--scale", "9")["learner"]
    named = (f"{arguments[0]}@anytime", *arguments[1:])
    if arguments[0] != "hedge":
        assert "Anytime" in result_of(capsys, "bound", "--n", "4", "--rounds", "1000", "--learner", *named)["learner"]


def test_bound_at_a_given_best_loss_states_the_condition(capsys: pytest.CaptureFixture[str]) -> None:
    """The control: without a best loss there is no condition."""
    asked = ("bound", "--n", "10", "--rounds", "20000", "--tuning", "self-confident")
    data = result_of(capsys, *asked, "--best-loss", "100")
    assert data["bound"]["condition"] == "if the best loss L* <= 100 on every run"
    assert data["bound"]["at_most"] == 100.0
    free = result_of(capsys, *asked)["bound"]
    assert (free["condition"], free["at_most"]) == ("", None)


def test_bound_without_a_printed_form(capsys: pytest.CaptureFixture[str]) -> None:
    data = result_of(capsys, "bound", "--n", "4", "--smoothing", "tsallis", "--best-loss", "10")
    assert data["bound"]["printed"] is None
    assert data["printed_withheld"]


def test_play(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ("play", "--learner", "bandit", "--smoothing", "tsallis", "--n", "3", "--rounds", "200", "--runs", "4")
    data = result_of(capsys, *arguments, "--out", str(tmp_path))
    assert data["runs"] == 4
    assert len(data["checkpoints"]) == len(data["mean_regret"])
    assert data["interval"][0] <= data["regret"] <= data["interval"][1]
    assert data["regret"] <= data["bound"]["value"]
    assert "<svg" not in (tmp_path / "index.html").read_text(encoding="utf-8").split("<body>")[1].split("<script")[0]
    assert (tmp_path / "record.npz").exists()
    again = result_of(capsys, *arguments)
    assert again["mean_regret"] == data["mean_regret"]
    other = result_of(capsys, *arguments, "--seed", "1")
    assert other["mean_regret"] != data["mean_regret"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--learner", "experts", "--n", "4"),
        ("--learner", "experts", "--n", "4", "--scale", "5"),
        ("--learner", "bandit", "--n", "4", "--smoothing", "log-barrier", "--best-loss", "20"),
        ("--learner", "bandit", "--n", "4", "--smoothing", "entropy", "--tuning", "horizon"),
        ("--learner", "expert-bandit", "--n", "5", "--actions", "3"),
        ("--learner", "expert-bandit", "--n", "5", "--actions", "3", "--clip", "tuned"),
    ],
)
def test_play_each_learner(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    data = result_of(capsys, "play", *arguments, "--rounds", "60", "--runs", "2", "--adversary", "small_best_loss")
    assert data["rounds"] == 60


def test_audit_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    data = result_of(capsys, "audit", "--smoothing", "exponential", "--scale", "2", "--n", "10")
    assert data["verdict"] == "holds"
    assert data["measured"] == pytest.approx(0.5, rel=1e-9)


UNSTABLE_LEARNER = """
import math, random
class Steep:
    def __init__(self): self.L = [0.0] * 3
    def act(self): return random.choices(range(3), [math.exp(-2 * x) for x in self.L])[0]
    def observe(self, losses): self.L = [a + b for a, b in zip(self.L, losses)]
"""


def test_audit_by_sampling_detects_an_exceeded_level(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unstable_module.py").write_text(UNSTABLE_LEARNER)
    monkeypatch.chdir(tmp_path)
    code, out, err = call(
        capsys, "audit", "unstable_module:Steep", "--n", "3", "--level", "0.5", "--samples", "4000", "--json"
    )
    # Exit code 1, and standard output is JSON only.
    assert (code, err) == (1, "")
    data = json.loads(out)
    assert data["verdict"] == "not stable at the level claimed"
    assert 0.5 < data["lower"] < 2.0
    code, out, _ = call(capsys, "audit", "unstable_module:Steep", "--n", "3", "--samples", "4000")
    assert code == 0
    assert "at least" in out


def test_audit_names_the_module_that_raised(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: an invalid argument of the audit, the same type of error, is not attributed to the module."""
    (tmp_path / "raising_module.py").write_text("def play(losses, rng): raise ValueError('n must be odd')\n")
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "audit", "raising_module:play", "--n", "3")[2] == (
        "hannan: error: raising_module:play raised ValueError: n must be odd\n"
    )
    err = call(capsys, "audit", "raising_module:play", "--n", "3", "--confidence", "2")[2]
    assert "raising_module" not in err
    assert "confidence" in err


def test_reproduce(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = result_of(
        capsys, "reproduce", "--quick", "--only", "lemma:regret_lstar", "--out", str(tmp_path), "--jobs", "1"
    )
    assert {claim["name"] for claim in data["claims"]} == {
        "key-lemma",
        "key-lemma-printed",
        "key-lemma-delta",
        "rate-form",
        "private-marginals",
    }
    for claim in data["claims"]:
        assert {"label", "verdict", "value", "bound", "runs", "seconds"} <= set(claim)
        assert claim["as_expected"]
        assert claim["control"]["failed"]
        assert claim["number"] == "Lemma 3.1"
        assert claim["ours"] is (claim["name"] == "private-marginals")
        assert claim["printed"] is None if claim["ours"] else "2ε L*" in claim["printed"]
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Lemma 3.1, as printed:" in page
    assert page.count("rejected, as required") == len(data["claims"])
    assert data["summary"]["fails"] == 0
    assert data["versions"]["numpy"]
    assert (tmp_path / "index.html").exists()
    assert json.loads((tmp_path / "claims.json").read_text())["seed"] == 0


def test_reproduce_fails_with_exit_code_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ("--only", "key-lemma", "--as-printed", "key-lemma", "--out", str(tmp_path), "--jobs", "1")
    code, out, err = call(capsys, "reproduce", "--quick", *arguments)
    assert code == 1
    assert "    1  unexpected results\n" in out
    assert err == "hannan: unexpected verdict: key-lemma\n"


def test_reproduce_prints_a_summary_and_rows_only_if_verbose(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ("reproduce", "--quick", "--only", "prop:POD", "--out", str(tmp_path), "--jobs", "1")
    code, out, err = call(capsys, *arguments)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert re.fullmatch(r"Checked 2 claims of the paper in \d+ s", lines[0])
    counts = {words: int(number) for number, words in (line.split(maxsplit=1) for line in lines[1:7])}
    assert sum(counts.values()) == 2
    assert counts["unexpected results"] == 0
    assert lines[7:] == [
        "Negative controls: all 2 deliberately broken variants were rejected",
        f"Report: {tmp_path / 'index.html'}",
    ]
    _, verbose, _ = call(capsys, *arguments, "--verbose")
    rows = verbose.splitlines()[: -len(lines)]
    assert [row.split()[0] for row in rows] == ["label", "prop:POD", "prop:POD"]


def test_column_of_dates_is_an_error_with_advice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("day,a,y\n2024-05-01,1,2\n")
    code, out, err = call(capsys, "combine", str(table), "--target", "y")
    assert (code != 0, out) == (True, "")
    assert (
        "column 'day': expected a number or an empty cell; got '2024-05-01'. Name a column of times with --time" in err
    )
    assert re.search(r"column .day.*--skip", call(capsys, "route", str(table))[2])


def test_replay_rejects_a_log_that_is_too_short(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("a,l,p\nx,0.5,0.5\ny,0.2,0.5\nx,0.1,0.5\ny,0.9,0.5\n")
    code, out, err = call(capsys, "replay", str(log), "--action", "a", "--loss", "l", "--propensity", "p")
    assert (code != 0, out) == (True, "")
    assert "an estimate needs a log of at least 30 rows; got 4" in err
