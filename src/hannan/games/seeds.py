"""Seeds from a seed: one for each game, by what the game is, so that no two games share a stream."""

from __future__ import annotations

import hashlib
import json


def derived(seed: int, *words: str | int) -> int:
    """63 bits of a hash of the seed and the words: the same words give the same seed, on any machine.

    >>> derived(0, "learner", "exp3") == derived(0, "learner", "exp3") != derived(0, "learner", "hedge")
    True
    """
    text = json.dumps([seed, *words], ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1
