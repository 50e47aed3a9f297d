"""Find unclear phrases in strings for users, with the words to write instead.

    python tests/language/phrases.py [file or folder ...]
    python tests/language/phrases.py --list

Checked are error messages, help texts, printed text and docstrings of public names in Python, string literals in C++,
and the text of pages outside of code. Comments and private docstrings are not checked. Without arguments, everything is
checked except the files that checked.toml lists as unfinished; --list prints what belongs into that list.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
UNFINISHED = tomllib.loads(Path(__file__).with_name("checked.toml").read_text(encoding="utf-8"))["unfinished"]
#: Text for users. The changelog of past versions and pages that the site writes are not checked.
TEXTS = ("src", "engine", "examples", "docs", "README.md", "CONTRIBUTING.md", "SECURITY.md")
WRITTEN = ("docs/api/", "docs/examples/", "docs/project/", "docs/_site/", "_engine.pyi")
UNIT = r"(?:row|round|arm|run|key|column|second|series|decision|core|page|move|ticket)"
#: Phrase -> what to write instead.
PHRASES = {
    rf"\b\d[\d.,]*(?:e-?\d+)? (?:[a-zµ]+ )?an? {UNIT}\b": 'a number "per" unit, as in "12 ns per round"',
    rf"\b(?:forecast|weight|loss|number|value|line) an? {UNIT}\b": '"one ... per ..."',
    r"\b(?:[Ww]hoever|[Nn]obody|[Aa]nybody|[Ee]verybody)\b": "the program, the user or the adversary that is meant",
    r"^(?:What|Who|Whether) (?!if\b)[^?]*\.$": "a sentence that starts with a verb or a noun",
    r"\bon your word\b": '"assumed, not verified"',
    r"\bat the door\b": '"on input"',
    r"\bof (?:your|its|their|one's) own\b": '"user-defined", or a possessive with its noun',
    r"\b(?:is|are|was|were) told\b": '"receives"',
    r"\bso many\b(?! (?:as|that)\b)": "the number or its name",
    r"\bwhole numbers?\b": '"integer"',
    r"\b(?:all or nothing|whole or not at all)\b": '"atomically"',
    r"\bgo(?:es)? on where\b": '"resumes"',
    r"\bin (?:the|its|their) place of\b": '"instead of"',
    r"\bbesides?\b": '"with", "next to" or "in addition to"',
    r"\bleft out\b": '"omitted"',
    r"\b(?:sleepers?|the awake)\b": '"sleeping experts" or "available arms"',
    r"\btroubles?\b": '"error"',
    r"\bgood in both worlds\b": '"best of both worlds"',
    r"\bof an order only\b": '"asymptotic, without explicit constants"',
    r"\bnothing has moved\b": '"the state is unchanged"',
    r"\b(?:strangers?|twins?|photos?|attics?|guests?)\b": "the technical term: user-defined object, copy, snapshot",
    r"\bat once\b": '"immediately" or "simultaneously"',
    r"\banew\b": '"again"',
    r"\bby turns\b": '"alternately"',
    r"\bgot (?:none|others)\b": "the value that was given",
    r"\bmust be there\b": '"is required" or "must exist"',
    r"\b(?:is|are|was|were|be) refused\b": '"is rejected" or "raises ValueError"',
    r"\bsays? (?:which|what|so|how|whether|of)\b": '"reports"',
    r"\bno more than it is\b": "the property that is checked",
    r"\b(?:the|of) least (?:loss|scale|bound|regret|mean|number)\b": '"smallest"',
    r"\b(?:be it|were it|should it|should they)\b": '"if it is"',
    r"\bas the root of\b": '"proportional to the square root of"',
    r"\bstands? (?:there|beside|for itself)\b": '"is", "exists" or "is printed with"',
}
KINDS = (".py", ".cpp", ".hpp", ".md")
FOUND = [(re.compile(phrase), instead) for phrase, instead in PHRASES.items()]


class Place(NamedTuple):
    """A string for users with its line."""

    line: int
    text: str


def python(text: str, help_texts: bool) -> Iterator[Place]:
    """Yield literals with a space and docstrings of public names, or all docstrings if they are help texts."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    skipped: set[int] = set()  # docstrings, and the constants of f-strings
    private: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
            parts = (part.value if isinstance(part, ast.Constant) else "0" for part in node.values)
            yield Place(node.lineno, "".join(map(str, parts)))
        if not isinstance(node, documented):
            continue
        module = isinstance(node, ast.Module)
        hidden = not module and (node in private or node.name.startswith("_"))
        if hidden or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            private.update(node.body)  # functions inside of functions, methods of private classes
        first = node.body[0].value if node.body and isinstance(node.body[0], ast.Expr) else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            skipped.add(id(first))
            if help_texts or not (hidden or module):
                yield Place(first.lineno, prose(first.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in skipped and " " in str(node.value):
            yield Place(node.lineno, str(node.value))


def prose(docstring: str) -> str:
    """Return a docstring without its examples."""
    return "\n".join(line for line in docstring.splitlines() if not line.lstrip().startswith((">>>", "...")))


def cpp(text: str) -> Iterator[Place]:
    """Yield string literals with a space; comments are skipped."""
    tokens = re.compile(r'//[^\n]*|/\*.*?\*/|"((?:[^"\\\n]|\\.)*)"', re.DOTALL)
    for match in tokens.finditer(text):
        if match[1] and " " in match[1]:
            yield Place(text.count("\n", 0, match.start()) + 1, match[1])


def page(text: str) -> Iterator[Place]:
    """Yield the paragraphs of a Markdown page outside of code."""
    blank = re.sub(r"^( *)```.*?^\1```", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    blank = re.sub(r"`[^`\n]*`", "`x`", blank)
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", blank):
        if paragraph.strip():
            yield Place(line, paragraph)
        line += paragraph.count("\n")


def strings(path: Path) -> list[Place]:
    """Return the strings for users in a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return list(python(text, "cli" in path.parts))
    return list(cpp(text) if path.suffix in (".cpp", ".hpp") else page(text))


def errors(path: Path) -> list[str]:
    """Return the banned phrases in a file as "file:line: phrase: write ..."."""
    found = []
    for place in strings(path):
        text = " ".join(place.text.split())
        for phrase, instead in FOUND:
            for match in phrase.finditer(text):
                near = place.text[: place.text.find(match[0].split()[0])].count("\n")
                found.append(f"{path}:{place.line + near}: {match[0][:60]!r}: write {instead}")
    return found


def files(given: list[str]) -> list[Path]:
    """Return the files with text in files and folders."""
    found: list[Path] = []
    for one in given:
        path = ROOT / one
        if not path.exists():
            raise ValueError(f"no such file or folder: {one!r}")
        found += [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in KINDS)
    return [path for path in found if not any(word in path.as_posix() for word in WRITTEN)]


def main(given: list[str]) -> int:
    """Print the banned phrases; return 1 if there are any."""
    if given == ["--list"]:
        for path in files(list(TEXTS)):
            if errors(path):
                print(f'    "{path.relative_to(ROOT).as_posix()}",')
        return 0
    chosen = files(given or list(TEXTS))
    if not given:
        chosen = [path for path in chosen if path.relative_to(ROOT).as_posix() not in UNFINISHED]
    found = [line for path in chosen for line in errors(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
