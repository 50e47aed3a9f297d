"""Matching of error messages by parameter and value instead of by sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest


def rejected(call: Callable[[], Any], *words: object, kind: type[Exception] = ValueError) -> str:
    """Check that a call raises an error whose message contains every word; return the message.

    A word matches as a whole: "1" is not found in "10" or in "1.5". Words may occur in any order, so the sentence
    around them can be rewritten without a change of the test.

    >>> rejected(lambda: int("x1"), "int", "'x1'")
    "invalid literal for int() with base 10: 'x1'"
    """
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    missing = [str(word) for word in words if not contains(message, str(word))]
    assert not missing, f"the message must contain {missing}; got {message!r}"
    return message


def contains(message: str, word: str) -> bool:
    """Return whether a message contains a word or number as a whole."""
    before = r"(?<!\w)(?<!\d\.)" if re.match(r"[\w.-]", word) else ""
    after = r"(?!\w|\.\d)" if re.search(r"\w\Z", word) else ""
    return re.search(before + re.escape(word) + after, message) is not None
