"""Validate the docstrings of public names with numpydoc.

    python tests/language/docstrings.py [hannan.Bandit ...]

Without arguments, the names and modules listed in checked.toml are validated, which are all public names: the docstring
of each name, and those of its public methods and properties if it is in the second list. With arguments, these names
are validated.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpydoc.validate import validate

import hannan as hn

CHECKED = tomllib.loads(Path(__file__).with_name("checked.toml").read_text(encoding="utf-8"))
#: Codes of numpydoc: format and order of sections, summary, parameters, returned values, examples.
CODES = {
    "GL02", "GL03", "GL05", "GL06", "GL07", "GL08",
    "SS01", "SS02", "SS03", "SS04", "SS05", "SS06",
    "PR01", "PR02", "PR03", "PR04", "PR06", "PR07", "PR08", "PR09", "PR10",
    "RT01", "RT03", "RT04", "RT05", "EX01",
}  # fmt: skip
#: Classes that calls return: users read their attributes and never pass their parameters.
RESULTS = {
    "Bound", "Certificate", "Combined", "Comparison", "Evidence", "Finding", "FleetCertificate", "Moves", "Move",
    "Privacy", "PrivacyCurve", "Record", "Replay", "Routes", "Stability", "Withheld",
}  # fmt: skip


def errors(name: str) -> list[str]:
    """Return the errors of one name, for example "hannan.Bandit.bound", as "name: code message"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpydoc warns about what it also returns as errors
        found = validate(name)["errors"]
    *_, owner, last = name.split(".")
    method = owner != "hannan"
    ignored = {"EX01"} if method else set()
    if last in RESULTS:
        ignored |= {"PR01"}
    starred = [text for code, text in found if code == "PR01" and all(n[0] == "*" for n in re.findall("'(.*?)'", text))]
    starred.append("Unknown parameters {'cls'}")  # numpydoc takes the first parameter of a function `cls` for its class
    return [f"{name}: {code} {text}" for code, text in found if code in CODES - ignored and text not in starred]


def members(name: str) -> Iterator[str]:
    """Yield the methods and properties of a public class; those that inherit their docstring are left to the base."""
    thing = getattr(hn, name)
    for member, value in vars(thing).items() if inspect.isclass(thing) else ():
        value = getattr(value, "__func__", value)
        if member.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
            continue
        inherited = any(member in vars(base) for base in thing.__mro__[1:])
        if value.__doc__ or not inherited:
            yield f"hannan.{name}.{member}"


def names(listed: list[str]) -> list[str]:
    """Return the public names that are listed, or whose module or package is listed."""
    found: dict[str, Any] = {name: getattr(hn, name) for name in hn.__all__ if callable(getattr(hn, name))}
    chosen = []
    for name, thing in found.items():
        module = thing.__module__
        if any(one == name or module == one or module.startswith(f"{one}.") for one in listed):
            chosen.append(name)
    return chosen


def main(given: list[str]) -> int:
    """Print the errors; return 1 if there are any."""
    wanted = given or [f"hannan.{name}" for name in names(CHECKED["docstrings"])]
    wanted += [] if given else [member for name in names(CHECKED["methods"]) for member in members(name)]
    found = [line for name in wanted for line in errors(name)]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
