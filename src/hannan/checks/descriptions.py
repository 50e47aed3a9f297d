"""A learner, or a law, is a description: a value that can be printed, pasted, sent and compared."""

from __future__ import annotations

import copy
import math
import sys
from typing import Any, get_args

import hannan
from hannan import saving
from hannan.checks.report import Check, hold, needs, skip
from hannan.mathematics.against import Against


def repr_can_be_pasted(thing: Any) -> None:
    """`eval(repr(x)) == x`, with the names of the package and of the module that x comes from."""
    names = {name: getattr(hannan, name) for name in hannan.__all__}
    names |= vars(sys.modules[type(thing).__module__]) | {type(thing).__name__: type(thing)}
    built = eval(repr(thing), names)
    hold(built == thing, f"repr must be pasted as an equal; got {built!r} of {thing!r}")


def equal_ones_hash_alike(thing: Any) -> None:
    """It can be a key: an equal one finds it."""
    twin = copy.copy(thing)
    hold(twin == thing, f"a copy must be an equal; got {twin!r} of {thing!r}")
    hold(hash(twin) == hash(thing), f"equal ones must have one hash; got {hash(twin)} and {hash(thing)}")


def it_is_frozen(thing: Any) -> None:
    """No field can be set: what was described is what is played."""
    fields = list(getattr(type(thing), "__dataclass_fields__", ())) or list(vars(thing))
    if not fields:
        skip("it has no fields")
    for name in fields:
        value = getattr(thing, name)
        try:
            setattr(thing, name, value)
        except (AttributeError, TypeError):
            continue
        hold(False, f"fields must be frozen; {name} could be set")


def json_goes_both_ways(thing: Any) -> None:
    """`to_json` and back is an equal of the same class; a class of your own is registered with `hannan.register`."""
    text = saving.to_json(thing) if not hasattr(thing, "to_json") else thing.to_json()
    try:
        built = saving.from_json(text)
    except ValueError as reason:
        if type(thing).__module__.split(".")[0] == "hannan":
            raise
        skip(f"{reason} (hannan.register makes a class of your own known)")
    hold(type(built) is type(thing) and built == thing, f"JSON must come back as it was; got {built!r} of {thing!r}")


def a_bound_is_stated_or_withheld(learner: Any) -> None:
    """A bound is a finite number >= 0 with a source and of whom it holds, no more than the rounds times the range,
    and never falls with the rounds; where none is proved it is refused with a ValueError."""
    needs(learner, "bound")
    values, withheld = [], ""
    for rounds in (0, 1, 2, 20, 80):
        try:
            bound = learner.bound(rounds=rounds)
        except ValueError as reason:
            withheld = str(reason)
            continue
        hold(math.isfinite(bound.value) and bound.value >= 0.0, f"a bound must be finite and >= 0; got {bound.value!r}")
        hold(bound.source, "a bound must name its source; got none")
        known = get_args(Against)
        hold(bound.against in known, f"a bound must hold against one of {known}; got {bound.against!r}")
        low, high = getattr(learner, "loss_range", (-math.inf, math.inf))
        most = rounds * (high - low) if rounds else 0.0
        hold(bound.value <= most * (1 + 1e-12), f"no regret of {rounds} rounds exceeds {most}; got {bound.value!r}")
        values.append(bound.value)
    hold(values == sorted(values), f"a bound must not fall with the rounds; got {values}")
    if not [value for value in values if value > 0.0]:
        skip(f"withheld: {withheld}" if withheld else "its bound is 0: there is nothing to choose")


#: Of laws too.
OF_VALUES: tuple[Check, ...] = (repr_can_be_pasted, equal_ones_hash_alike, it_is_frozen, json_goes_both_ways)
CHECKS: tuple[Check, ...] = (*OF_VALUES, a_bound_is_stated_or_withheld)
