"""Check the subjects of commits: "<scope>: <imperative verb> <object>", at most 72 characters.

    python tests/language/subjects.py [base]

The commits after `base` are checked. Default: the commits after the branch `origin/main` or `main`; on that branch
itself, and in a shallow or exported copy without it, the last commit alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LONGEST = 72
FORM = re.compile(r"[a-z0-9][a-z0-9 ,/_-]*: [a-z]")
#: First words that are no imperative: articles, pronouns, third person, past tense, gerund.
OTHER = re.compile(
    r"(?:an?|the|no|what|who|it|this|that|these|one|every|all|is|are|was)\b|(?:add|fix|remov|mov|renam|updat|mak|us)(?:s|es|ed|ing)\b"
)


def errors(subject: str) -> list[str]:
    """Return what is wrong with a subject."""
    found = []
    if len(subject) > LONGEST:
        found.append(f"must have at most {LONGEST} characters; got {len(subject)}")
    if not FORM.match(subject):
        found.append('must have the form "<scope>: <imperative verb> <object>"')
    elif OTHER.match(subject.split(": ", 1)[1]):
        found.append(
            f"must have a verb in the imperative after the scope; got {subject.split(': ', 1)[1].split()[0]!r}"
        )
    if subject.endswith("."):
        found.append("must not end with a full stop")
    if ";" in subject:
        found.append("must describe one change: split the commit instead of joining with a semicolon")
    return found


def git(folder: Path, *words: str) -> str | None:
    """Return what git prints, or None if it fails."""
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def subjects(folder: Path, base: str | None = None) -> list[str]:
    """Return the subjects of the commits after a base, without merges; an empty list outside of a repository."""
    if git(folder, "rev-parse", "HEAD") is None:
        return []
    if base is not None and git(folder, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}") is None:
        raise ValueError(f"base must be a commit of the repository; got {base!r}")
    for one in (base,) if base is not None else ("origin/main", "main"):
        listed = git(folder, "log", "--no-merges", "--format=%s", f"{one}..HEAD")
        if listed:
            return listed.splitlines()
    last = git(folder, "log", "-1", "--no-merges", "--format=%s") if base is None else None
    return [last] if last else []


def main(given: list[str], folder: Path = Path(__file__).resolve().parents[2]) -> int:
    """Print the errors; return 1 if there are any."""
    found = [f"{subject!r} {error}" for subject in subjects(folder, *given[:1]) for error in errors(subject)]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
