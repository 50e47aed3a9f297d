"""A player from its file."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from hannan import saving, validation
from hannan.players import identity
from hannan.saving import fields


def load(path: str | os.PathLike[str], resume: str | None = None) -> Any:
    """Read a player or a fleet from the file that `save` wrote, and go on with it.

    The player that `save` wrote, open moves and warm starts as they were, in a new incarnation.

    It draws with randomness of its own, made from the saved stream and fresh entropy, and its moves carry an id of its
    own: two players from one file draw different moves and refuse each other's. Moves that were open are honoured once
    by each copy. `resume="exact"` goes on bit for bit, with the id and the stream of the file: two such players are
    twins, and of the one that was saved and goes on; whoever plays one foresees the moves of the other. Their
    certificates say so. A plain load has a stream of its own again; of the rounds that a twin drew before it was saved
    the file says nothing.

    The file of a combiner gives the combiner (`hn.Combiner`), which draws nothing and goes on bit for bit.

    Nothing of the file is run. A torn, edited or foreign file is refused by name. A learner with a law of
    your own needs `hannan.register(TheLaw)` first.

    `path`: the file.

    >>> import hannan as hn, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "player.json")
    ...     hn.Bandit(3).start(seed=0).save(path)
    ...     hn.load(path).round
    0
    """
    if resume not in (None, "exact"):
        raise ValueError(f'resume must be "exact" or None; got {resume!r}')
    content = saving.read(path)
    if content.get("kind") == "combiner":
        # Rooms above this one are reached by their public names.
        return importlib.import_module("hannan").Combiner.load(path)
    try:
        player = resumed(content)
        if resume is None:
            player._reincarnate()
    # RuntimeError: what the engine cannot read as a number, an array or a list.
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
        raise ValueError(f"{path} cannot be resumed: {error}") from error
    return player


def resumed(content: dict[str, Any]) -> Any:
    """The player of a file's content, exactly as it was, stream and all; every field is checked."""
    if content.get("kind") != "player":
        raise ValueError(f"it must hold a player; got {content.get('kind')!r}")
    learner = saving.build(content["learner"])
    seed, name, _ = identity.told(content)
    _fits(learner, content)
    player = learner.start(seed, name)
    player._is(content)
    player._resume(content)
    player.resumed = True
    return player


def _fits(learner: Any, content: dict[str, Any]) -> None:
    """Refuse a small file of a large learner before anything is made for it: every expert takes 16 digits at least."""
    if not hasattr(learner, "start"):
        raise ValueError(f"it must describe a learner; got {validation.brief(learner)}")
    state = content["state"]
    leader = state.get("leader")
    kept = fields.text(state["losses"]["hex"] if leader is None else leader["move"], "state")
    domain = getattr(learner, "domain", None)
    sizes = [getattr(learner, name, 0) for name in ("n", "experts", "thresholds")]
    largest = max([*sizes, domain.d if domain is not None else 0])
    if len(kept) < 16 * largest:
        raise ValueError(f"its state must have a number for each of {largest}; got {len(kept) // 16}")


def packed(item: Any) -> Any:
    """As JSON takes it: arrays and numbers to the last bit, by name."""
    if isinstance(item, np.ndarray):
        if item.dtype == bool:
            return {"mask": "".join("1" if x else "0" for x in item)}
        return {"hex": saving.to_hex(item), "kind": item.dtype.kind}
    if isinstance(item, dict):
        return {key: packed(value) for key, value in item.items()}
    if isinstance(item, float):
        return {"number": item.hex()}
    if isinstance(item, (tuple, list)):
        return [packed(value) for value in item]
    return item


def unpacked(item: Any) -> Any:
    """What `packed` packed."""
    if isinstance(item, dict):
        if item.keys() == {"mask"}:
            letters = fields.text(item["mask"], "mask of the awake")
            if not set(letters) <= {"0", "1"}:
                raise ValueError(f"its mask of the awake must be 0s and 1s; got {validation.brief(letters)}")
            return np.array([letter == "1" for letter in letters], dtype=bool)
        if item.keys() == {"hex", "kind"}:
            if item["kind"] not in ("f", "i"):
                raise ValueError(f"its arrays must be of kind f or i; got {validation.brief(item['kind'])}")
            digits = fields.text(item["hex"], "array")
            return fields.bits(digits, len(digits) // 16, "array", item["kind"])
        if item.keys() == {"number"}:
            return float.fromhex(fields.text(item["number"], "number"))
        return {key: unpacked(value) for key, value in item.items()}
    if isinstance(item, list):
        return [unpacked(value) for value in item]
    return item
