"""mypy and pyright know every public name and the types of the main calls."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import hannan as hn

ROOT = Path(__file__).parents[1]
STUB = ROOT / "src" / "hannan" / "__init__.pyi"

START = """import hannan as hn
import numpy as np

losses = np.zeros((100, 10))
learner = hn.Bandit(10)
player = learner.start()
move = player.act()
record = hn.play(learner, losses, runs=2)
private = hn.Convex(hn.Ball(3), 1.0, tuning=hn.Fixed(2.0), smooth=0, guarantee="privacy")
fleet = hn.Fleet(learner)
table = {"a": losses[:, 0], "y": losses[:, 1]}
"""
#: Bandits that need only their arms, which may have names.
NAMED = ("UCB1", "KLUCB", "EpsilonGreedy", "Thompson", "LBInf", "Exp3Light", "TsallisShannon")
#: Expressions of users with their types.
SEEN = {
    "hn.Bandit(10)": "Bandit",
    "hn.Bandit(['red', 'blue'])": "Bandit",
    "hn.Bandit(['red', 'blue']).n": "int",
    **{f"hn.{named}(['red', 'blue'])": named for named in NAMED},
    **{f"hn.{named}(['red', 'blue']).n": "int" for named in NAMED},
    "hn.UCB1(3)": "UCB1",
    "hn.MOSS(['red', 'blue'], rounds=9).n": "int",
    "hn.ExploreThenCommit(('red', 'blue'), 9).n": "int",
    "hn.Exp3S(['red', 'blue'], 9.0, 0.1).n": "int",
    "hn.exp3_s(['red', 'blue'], 9)": "Exp3S",
    "hn.exp3(['red', 'blue'])": "Bandit",
    "hn.tsallis_inf(['red', 'blue']).arms": "tuple[str, ...] | None",
    "hn.Experts(3, hn.Entropy())": "Experts",
    "hn.tsallis_inf(3)": "Bandit",
    "learner.bound(rounds=100)": "Bound",
    "learner.bound(rounds=100).value": "float",
    "player": "BanditPlayer",
    "move": "Move",
    "move.probability": "float",
    "hn.Experts(3).start().act()": "Move",
    "hn.ExpertBandit(3, 4).start().act([0, 1, 2, 0])": "Move",
    "player.certificate()": "Certificate",
    "player.certificate().bound": "Bound | None",
    "record": "Record",
    "record.bound": "Bound | None",
    "record.regret[0, 0]": "Any",
    "hn.compare([learner], {'flat': losses})": "Comparison",
    "hn.audit(hn.FTPL(hn.Exponential(), 2.0), 3)": "Finding",
    "hn.FTPL(hn.Exponential(), 2.0).stability(3)": "Stability",
    "private.privacy(rounds=10)": "Privacy",
    "private.start().act().action": "tuple[float, ...]",
    "fleet.act([1, 2])": "Moves",
    "fleet.certificate()": "FleetCertificate",
    "fleet.certificate(1)": "Certificate",
    "hn.replay(record.to_frame(), 'a', 'l')": "Replay",
    "hn.route(losses)": "Routes",
    "hn.combine(table, 'y')": "Combined",
    "hn.combine(table, 'y', 'squared', horizon=2, seed=1).summary": "Summary",
    "hn.combine(table, 'y', by='id', pooled=True)": "Panel",
    "hn.combine(table, 'y', by=['shop', 'id'], prior='pool').prior()": "dict[str, float]",
    "hn.combine(table, 'y', by=None if len(table) else 'id')": "Combined | Panel",
    "hn.adversaries.Bernoulli([0.5], 9)": "Bernoulli",
}
#: Controls: an unknown name, arms of a wrong type, and an unknown keyword.
WRONG = ["hn.Softmax", "hn.UCB1(2.5)", "hn.combine(table, 'y', by='id', pool=True)"]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a file with the main calls, every public name, and the controls."""
    file = tmp_path_factory.mktemp("user") / "user.py"
    names = [f"hn.{name}" for name in dir(hn)]
    file.write_text(
        START + "".join(f"reveal_type({text})\n" for text in [*SEEN, *names]) + "\n".join(WRONG) + "\n",
        encoding="utf-8",
    )
    return file


def by_mypy(file: Path) -> tuple[list[str], list[int]]:
    """Return (revealed types, lines with errors) of mypy."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--ignore-missing-imports",
               "--follow-imports=silent",
               f"--cache-dir={file.parent / 'cache'}", "--config-file=", str(file)]  # fmt: skip
    told = subprocess.run(
        command, capture_output=True, text=True, cwd=file.parent, env=os.environ | {"MYPYPATH": str(ROOT / "src")}
    )
    seen = re.findall(r'note: Revealed type is "(.*)"$', told.stdout, re.MULTILINE)
    return seen, _lines(re.findall(r"^user\.py:(\d+): error: ", told.stdout, re.MULTILINE))


def by_pyright(file: Path) -> tuple[list[str], list[int]]:
    """Return (revealed types, lines with errors) of pyright."""
    settings = {"extraPaths": [str(ROOT / "src")], "typeCheckingMode": "basic", "include": [file.name]}
    (file.parent / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(file.parent)]
    told = subprocess.run(command, capture_output=True, text=True, cwd=file.parent)
    notes = json.loads(told.stdout)["generalDiagnostics"]
    revealed = [re.search(r' is "(.*)"$', note["message"], re.DOTALL) for note in notes]
    seen = [
        found[1] for note, found in zip(notes, revealed, strict=True) if note["severity"] == "information" and found
    ]
    return seen, _lines(note["range"]["start"]["line"] + 1 for note in notes if note["severity"] == "error")


def _lines(numbers: Iterable[Any]) -> list[int]:
    """Return distinct line numbers in order."""
    return sorted({int(number) for number in numbers})


def short(text: str) -> str:
    """Return a type without module names, and only the name of a named tuple."""
    named = re.fullmatch(r"tuple\[.*, fallback=(?:\w+\.)*(\w+)\]", text)
    return named[1] if named else re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_type_checkers_know_every_name(checker, user):
    seen, refused = checker(user)
    lines = user.read_text(encoding="utf-8").splitlines()
    assert [lines[number - 1] for number in refused] == WRONG
    calls, names = seen[: len(SEEN)], seen[len(SEEN) :]
    assert {text: short(found) for text, found in zip(SEEN, calls, strict=True)} == SEEN
    assert len(names) == len(dir(hn))
    unknown = [name for name, found in zip(dir(hn), names, strict=True) if found in ("Any", "Unknown")]
    assert unknown == []


def test_the_stub_matches_the_public_names():
    """`make stubs` writes the stub."""
    place = ROOT / "engine" / "tools" / "public_names.py"
    spec = importlib.util.spec_from_file_location("public_names", place)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert STUB.read_text(encoding="utf-8") == tool.text()
    assert (STUB.parent / "py.typed").is_file()
    listed = re.findall(r'"(\w+)"', STUB.read_text(encoding="utf-8").split("__all__ = ")[1])
    assert listed == hn.__all__
