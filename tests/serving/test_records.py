"""Records of the journal: slates in several slots, and rejection of everything that breaks a rule."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hannan.serving import journal
from hannan.serving.contents import Contents
from hannan.serving.journal import (  # fmt: skip
    ACT,
    NOTE,
    SLATE,
    SLATE_EXPIRE,
    SLATE_OBSERVE,
    SLOT,
    Damaged,
    SlateAct,
    SlateFeedback,
)
from hannan.serving.tickets import Slate

PLAIN = journal.record(ACT, 3, 0, 17, 0.25)


def contents(body: bytes) -> list[Any]:
    return [part.tolist() if isinstance(part, np.ndarray) else part for _, part in journal.decode_group(body)]


@st.composite
def slates(draw: Any) -> SlateAct:
    arms = draw(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=9, unique=True))
    odds = draw(st.lists(st.floats(1e-9, 1.0), min_size=len(arms), max_size=len(arms)))
    # A probability whose bytes look like the record of a note is a value like any other.
    p = draw(st.one_of(st.just(math.nan), st.just(min(odds)), st.just(5e-324)))
    return SlateAct(draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, 1)), draw(st.integers(0, 2**64 - 1)),
                    Slate(tuple(arms), tuple(odds), p))  # fmt: skip


feedbacks = st.builds(
    SlateFeedback, st.sampled_from([SLATE_OBSERVE, SLATE_EXPIRE]), st.integers(0, 2**32 - 1), st.integers(0, 1),
    st.integers(0, 2**64 - 1), st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=9).map(tuple),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(slates(), feedbacks, st.just("plain"), st.dictionaries(st.text(), st.integers())), max_size=8)
)
def test_groups_of_records_are_read_as_they_were_written(written: list[Any]) -> None:
    body, expected = b"", []
    for one in written:
        if isinstance(one, SlateAct):
            body += journal.slate(one)
        elif isinstance(one, SlateFeedback):
            body += journal.slate_feedback(one)
        else:
            body += PLAIN if one == "plain" else journal.note(one)
        plain = one == "plain"
        if plain and expected and isinstance(expected[-1], list):
            expected[-1].append((ACT, 0, 3, 0, 17, 0.25))
        else:
            expected.append([(ACT, 0, 3, 0, 17, 0.25)] if plain else one)
    assert len(body) % SLOT == 0
    assert repr(contents(body)) == repr(expected)  # repr: NaN equals NaN
    assert journal.has_tails(body) == any(one != "plain" for one in written)


def test_layout_of_a_slate() -> None:
    shown = SlateAct(7, 1, 5 << 32 | 9, Slate((3, 1, 2), (0.5, 0.25, 0.75), 0.125))
    head = struct.pack("<BBHIQd", SLATE, 1, 3, 7, 5 << 32 | 9, 0.125)
    items = b"".join(struct.pack("<Id", arm, p) for arm, p in ((3, 0.5), (1, 0.25), (2, 0.75)))
    assert journal.slate(shown) == head + items + bytes(12)
    told = SlateFeedback(SLATE_OBSERVE, 7, 1, 5 << 32 | 9, (0.0, 1.0))
    head = struct.pack("<BBHIQd", SLATE_OBSERVE, 1, 2, 7, 5 << 32 | 9, 0.0)
    assert journal.slate_feedback(told) == head + struct.pack("<ddd", 0.0, 1.0, 0.0)


SOUND = SlateAct(0, 0, 1, Slate((3, 1), (0.5, 0.25), 0.125))
FAULTS = [
    (SOUND._replace(slate=Slate((), (), 0.1)), "1 to 256 items"),
    (SOUND._replace(slate=Slate(tuple(range(257)), (0.5,) * 257, 0.1)), "1 to 256 items"),
    (SOUND._replace(slate=Slate((3, 1), (0.5,), 0.1)), "1 to 256 items"),
    (SOUND._replace(slate=Slate((3, 3), (0.5, 0.5), 0.1)), "different integers"),
    (SOUND._replace(slate=Slate((3, -1), (0.5, 0.5), 0.1)), "different integers"),
    (SOUND._replace(slate=Slate((3, 1), (0.5, 0.0), 0.1)), "inclusion probabilities"),
    (SOUND._replace(slate=Slate((3, 1), (0.5, 1.1), 0.1)), "inclusion probabilities"),
    (SOUND._replace(slate=Slate((3, 1), (0.5, math.nan), 0.1)), "inclusion probabilities"),
    (SOUND._replace(slate=Slate((3, 1), (0.5, 0.25), 0.0)), "probability of a slate"),
    (SOUND._replace(slate=Slate((3, 1), (0.5, 0.25), 0.26)), "probability of a slate"),
    (SOUND._replace(keyed=2), "keyed must be"),
]


@pytest.mark.parametrize(("shown", "message"), FAULTS)
def test_invalid_slates_are_rejected(shown: SlateAct, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        journal.slate(shown)


def test_control_the_valid_slate_is_written() -> None:
    assert contents(journal.slate(SOUND)) == [SOUND]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (SlateFeedback(ACT, 0, 0, 1, (0.5,)), "must be of kind"),
        (SlateFeedback(SLATE_OBSERVE, 0, 0, 1, ()), "1 to 256 finite"),
        (SlateFeedback(SLATE_OBSERVE, 0, 0, 1, (math.inf,)), "1 to 256 finite"),
        (SlateFeedback(SLATE_OBSERVE, 0, 3, 1, (0.5,)), "keyed must be"),
    ],
)
def test_invalid_feedback_is_rejected(told: SlateFeedback, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        journal.slate_feedback(told)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((0, 9), "unknown kind of record 9"),
        ((0, 255), "unknown kind of record 255"),
        ((1, 2), "keyed must be"),
        ((2, 9), "extends beyond its group"),
        ((2, 0), "1 to 256 items"),
        ((2, 4), "inclusion probabilities"),
        ((SLOT, 1), "different integers"),
        ((SLOT + 11, 0x7F), "inclusion probabilities"),
        ((-1, 1), "expected zeros"),
    ],
)
def test_damaged_slates_are_rejected_on_reading(change: tuple[int, int], message: str) -> None:
    body = bytearray(journal.slate(SOUND._replace(slate=Slate((3, 1, 2), (0.5, 0.25, 0.5), 0.125))))
    body[change[0]] = change[1]
    with pytest.raises(Damaged, match=message):
        contents(bytes(body))


@pytest.mark.parametrize("text", [b"{", b"[1]", b"\xff", b"7"])
def test_damaged_notes_are_rejected(text: bytes) -> None:
    body = struct.pack("<BBHIQd", NOTE, 0, 0, 0, len(text), 0.0) + text + bytes(-len(text) % SLOT)
    with pytest.raises(Damaged, match="a note must be"):
        contents(body)


def test_a_store_without_slate_learners_rejects_a_journal_with_slates() -> None:
    body = journal.note({"epoch": "00" * 8, "entropy": "00" * 32}) + journal.slate(SOUND)
    with pytest.raises(Damaged, match="has a slate at sequence"):
        Contents().replay(iter([(0, journal.group(body, 1.0))]))
