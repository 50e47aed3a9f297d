"""All code of the documentation runs, page by page, from an empty folder.

In the order of the page: a fence with a file name (`python app.py`, `toml plan.toml`) is saved; `python` and
`{code-cell}` run in one namespace per page; `sh` is run by the shell with the commands of the package on its path.
`text output` is the output of the code before it; `...` stands for any lines.
`console` is not run: it installs or does not end (the code of docs/web.md runs in tests/serving/test_web.py). Examples
with `>>>` are doctests.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

import hannan as hn

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
#: Languages that are shown and not run.
SHOWN = {"", "text", "console", "toml", "json", "math", "{toctree}"}
#: Words of snippets that cannot run here, with the reason.
ELSEWHERE = {
    "SLURMCluster": "needs a cluster",
    "FastAPI(": "tests/serving/test_web.py serves it and clicks",
    "litellm.Router(": "tests/interop/test_litellm.py runs it in an environment of its own",
}


class Block(NamedTuple):
    """A fence: language, file name after the language, and text."""

    language: str
    name: str
    text: str


def written() -> list[str]:
    """Return the pages of the repository, without pages that the site generates."""
    pages = [p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md")]
    return ["README.md", *sorted(p for p in pages if p.split("/")[1] not in ("api", "examples", "project"))]


def blocks(page: str) -> list[Block]:
    found = []
    for indent, info, text in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
        language, _, name = info.strip().partition(" ")
        body = "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))
        if language == "{code-cell}":
            body = re.sub(r"\A(:.*\n)*\n?", "", body)
        found.append(Block(language, name, body))
    return found


def runs(block: Block) -> bool:
    here = not any(word in block.text for word in ELSEWHERE)
    return here and block.language not in SHOWN and not block.text.lstrip().startswith(">>>")


WALKED = [page for page in written() if any(runs(block) for block in blocks(page))]


@pytest.mark.parametrize("page", WALKED)
def test_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MPLBACKEND", "agg")
    walk(blocks(page), page)


def walk(found: list[Block], page: str) -> None:
    """Save and run the blocks of a page in the current folder, and compare their output with that of the page."""
    space: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    for block in found:
        if (block.language, block.name) == ("text", "output"):
            if not doctest.OutputChecker().check_output(block.text, printed, doctest.ELLIPSIS):
                raise AssertionError(f"{page}: the page shows\n{block.text}\nbut the code prints\n{printed}")
        elif block.name and block.language[0] != "{":
            Path(block.name).write_text(block.text, encoding="utf-8")
        elif not runs(block):
            continue
        elif block.language in ("python", "{code-cell}"):
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(block.text, page, "exec"), space)
            printed = out.getvalue()
        elif block.language == "sh":
            printed = subprocess.run(
                ["sh", "-e", "-c", block.text], check=True, stdout=subprocess.PIPE, text=True
            ).stdout
        else:
            raise AssertionError(f"{page}: a fence must be python, sh, console, text or toml; got {block.language!r}")
    for value in space.values():
        if isinstance(value, hn.Store):
            value.close()


def test_the_script_of_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bash accepts the SLURM script; one task of the array, with the variable that SLURM sets, computes its part."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    (script,) = [block.text for block in blocks("docs/sweeps.md") if block.name == "sweep.sbatch"]
    assert well_formed(script)
    assert not well_formed(script + "if true; then\n")  # the control
    Path("sweep.sbatch").write_text(script, encoding="utf-8")
    grid = 'rounds = [20, 30, 40]\nn = [2, 3, 4]\nruns = 2\n[learners]\nours = "bandit"\nExp3 = "exp3"\n'
    Path("plan.toml").write_text(f'{grid}[environments]\ndrift = {{adversary = "drifting"}}\n', encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    task = {**os.environ, "PATH": path, "SLURM_ARRAY_TASK_ID": "3"}
    done = subprocess.run(["bash", "-e", "sweep.sbatch"], env=task, check=True, capture_output=True, text=True)
    assert list(Path("results").rglob("*.parquet")), done.stdout


def well_formed(script: str) -> bool:
    return subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).returncode == 0


def test_control_failing_code_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NameError):
        walk([Block("python", "", "a = 1\n"), Block("python", "", "a + b\n")], "control")
    with pytest.raises(subprocess.CalledProcessError):
        walk([Block("sh", "", "false\ntrue\n")], "control")
    with pytest.raises(AssertionError, match="a fence must be"):
        walk([Block("ruby", "", "puts 1\n")], "control")
    for code in (Block("python", "", "print(1)\nprint(2)\n"), Block("sh", "", "echo 1\necho 2\n")):
        walk([code, Block("text", "output", "1\n...\n")], "control")
        with pytest.raises(AssertionError, match="the page shows"):
            walk([code, Block("text", "output", "1\n")], "control")


def test_exceptions_occur_on_pages() -> None:
    every = [block.text for page in written() for block in blocks(page)]
    for word in ELSEWHERE:
        assert any(word in text for text in every), f"no page has {word!r}: it needs no exception"
