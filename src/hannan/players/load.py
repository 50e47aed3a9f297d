"""Loading of saved players, fleets and combiners."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from hannan import saving, validation
from hannan.players import identity
from hannan.saving import fields


def load(path: str | os.PathLike[str], resume: str | None = None) -> Any:
    """Load a player or a combiner from the file that `save` wrote.

    Parameters
    ----------
    path : str or os.PathLike
        The file. Every field of it is checked, and nothing in it is executed.
    resume : {"exact"}, optional
        Continue bit for bit, with the id and the random stream of the file. Default: a new id and a new random stream,
        derived from the saved one and from new entropy.

    Returns
    -------
    Player or Combiner
        The player with its pending moves, which it can settle; or the combiner, which uses no randomness.

    Raises
    ------
    ValueError
        If the file is incomplete, was edited, or is not a saved player.

    Notes
    -----
    By default, two players from one file draw different moves, and each rejects the new moves of the other. Players
    that resume exactly from one file draw the same moves, as does the saved player itself, so the moves of one predict
    those of the other; their certificates state this. A learner with a user-defined distribution needs
    `hannan.register(Distribution)` first.

    Examples
    --------
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
    # A module of an upper layer is imported by its public name.
    if content.get("kind") == "combiner":
        return importlib.import_module("hannan").Combiner.load(path)
    if content.get("kind") == "conformal":
        return importlib.import_module("hannan").Conformal.load(path)
    try:
        player = resumed(content)
        if resume is None:
            player._reincarnate()
    # The engine raises RuntimeError for values that are not numbers, arrays or lists.
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
        raise ValueError(f"{path} cannot be resumed: {error}") from error
    return player


def resumed(content: dict[str, Any]) -> Any:
    """Return the player of a file's content, with its random stream, after checking every field."""
    if content.get("kind") != "player":
        raise ValueError(f"kind must be 'player'; got {content.get('kind')!r}")
    learner = saving.build(content["learner"])
    seed, name, _ = identity.told(content)
    _fits(learner, content)
    player = learner.start(seed, name)
    player._is(content)
    player._resume(content)
    player.resumed = True
    return player


def _fits(learner: Any, content: dict[str, Any]) -> None:
    """Raise if the file is too small for its learner, before memory is allocated; an expert takes 16 digits."""
    if not hasattr(learner, "start"):
        raise ValueError(f"corrupt file: expected a learner; found {validation.brief(learner)}")
    state = content["state"]
    leader = state.get("leader")
    kept = fields.text(state["losses"]["hex"] if leader is None else leader["move"], "state")
    domain = getattr(learner, "domain", None)
    sizes = [getattr(learner, name, 0) for name in ("n", "experts", "thresholds")]
    largest = max([*sizes, domain.d if domain is not None else 0])
    if len(kept) < 16 * largest:
        raise ValueError(f"corrupt file: expected {largest} numbers in the state; found {len(kept) // 16}")


def packed(item: Any) -> Any:
    """Return a value as data that JSON can represent, with arrays and numbers exact to the last bit."""
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
    """Return the value that `packed` converted."""
    if isinstance(item, dict):
        if item.keys() == {"mask"}:
            letters = fields.text(item["mask"], "mask")
            if not set(letters) <= {"0", "1"}:
                raise ValueError(f"corrupt file: expected a mask of 0s and 1s; found {validation.brief(letters)}")
            return np.array([letter == "1" for letter in letters], dtype=bool)
        if item.keys() == {"hex", "kind"}:
            if item["kind"] not in ("f", "i"):
                raise ValueError(
                    f"corrupt file: expected an array of kind f or i; found {validation.brief(item['kind'])}"
                )
            digits = fields.text(item["hex"], "array")
            return fields.bits(digits, len(digits) // 16, "array", item["kind"])
        if item.keys() == {"number"}:
            return float.fromhex(fields.text(item["number"], "number"))
        return {key: unpacked(value) for key, value in item.items()}
    if isinstance(item, list):
        return [unpacked(value) for value in item]
    return item
