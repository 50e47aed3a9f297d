"""Flags over the OpenFeature Remote Evaluation Protocol: a flag is a learner, and its value is the drawn arm.

A person, named by the `targetingKey` of the context, has one decision per flag for as long as the store remembers ids:
a repeated evaluation returns the same value and the same ticket, and draws nothing. The protocol has no feedback, so
that feedback is sent to /v1/observe with the ticket from the metadata of the flag.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from hannan.serving import BODY, BUSY, CONFLICT, UNKNOWN, Refused, schemas
from hannan.serving.decisions import DecisionQueue
from hannan.serving.schemas import Flag
from hannan.serving.service import JSON, TEXT, Answer, Request, Service
from hannan.serving.stored_learner import StoredLearner
from hannan.serving.stored_slates import StoredSlates
from hannan.serving.tickets import Key, checked_key

#: Error codes of the protocol.
CODES = frozenset(("PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"))
#: Arms of a flag with boolean values.
BOOLEANS = {"true": True, "false": False}
#: Beginning of the ids of evaluations, and number of bytes of each digest in them.
PREFIX, DIGEST = "ofrep:", 16


class Subject(NamedTuple):
    """Person, decision and key of an evaluation.

    `decision` distinguishes decisions about the same person, such as page views. `key` is that of a keyed learner.
    """

    person: str
    decision: str = ""
    key: Key = None

    @property
    def id(self) -> str:
        """Id of the decision. It contains digests only, so the store contains no targeting keys."""
        return person_prefix(self.person) + _digest(self.decision)

    @classmethod
    def of(cls, body: bytes) -> Subject:
        """Return the subject of the body of a request; raise Refused if it has none."""
        try:
            asked = schemas.decode_flag(body or b"{}")
        except msgspec.ValidationError as error:
            raise Refused(BODY, f"context must be an object: {error}", "INVALID_CONTEXT") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Refused(BODY, f"the body must be JSON: {error}", "PARSE_ERROR") from None
        context: dict[str, Any] = {} if asked.context is UNSET else asked.context
        person = context.get("targetingKey")
        if person is None or person == "":
            raise Refused(
                BODY,
                "targetingKey is required in the context: the same person gets the same decision again",
                "TARGETING_KEY_MISSING",
            )
        try:
            return cls(_text(person, "targetingKey"), _text(context.get("decision", ""), "decision"),
                       checked_key(context.get("key")))  # fmt: skip
        except (ValueError, UnicodeEncodeError) as error:
            raise Refused(BODY, str(error), "INVALID_CONTEXT") from None


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"{name} must be a string without NUL; got {str(value)[:50]!r}")
    return value


def person_prefix(person: str) -> str:
    """Return the beginning of the ids of all decisions about a person.

    >>> person_prefix("anna") == person_prefix("anna"), person_prefix("anna") == person_prefix("ben")
    (True, False)
    """
    return f"{PREFIX}{_digest(person)}:"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST).hexdigest()


def evaluate(service: Service, request: Request) -> Answer:
    """Evaluate a flag: draw an arm of the learner, or return the decision that the person has already."""
    subject = Subject.of(request.body)
    service.check_queue()
    flag, sequence = _evaluated(service.queue, request.name, subject)
    return Answer(200, schemas.encode(flag), JSON, sequence)


def evaluate_all(service: Service, request: Request) -> Answer:
    """Evaluate the flags that were selected for bulk evaluation, with a tag that changes with their values."""
    subject = Subject.of(request.body)
    service.check_queue()
    flags, last = list[Flag](), 0
    for name in service.bulk:
        if name in service.queue.contents.by_name:
            try:
                flag, sequence = _evaluated(service.queue, name, subject)
            except Refused as error:
                flag, sequence = _failure(error, name), 0
            flags.append(flag)
            last = max(last, sequence)
    body = schemas.encode(schemas.Flags(flags))
    tag = b'"%b"' % hashlib.blake2b(body, digest_size=DIGEST).hexdigest().encode()
    if tag in request.match:
        return Answer(304, b"", TEXT, last, headers=((b"etag", tag),))
    return Answer(200, body, JSON, last, headers=((b"etag", tag),))


def _evaluated(queue: DecisionQueue, name: str, subject: Subject) -> tuple[Flag, int]:
    """Return (flag, sequence of its decision)."""
    with queue.lock:
        stored, _ = queue.look(name)
        if isinstance(stored, StoredSlates):
            raise Refused(CONFLICT, f"{name!r} shows slates; a flag has one value")
        decision, sequence = queue.draw(name, subject.key, subject.id)
        if str(decision.arm) not in stored.arms.available_names:
            # The arm has been retired: decide again, once per retirement.
            decision, sequence = queue.draw(name, subject.key, f"{subject.id}:{_retired(stored)}")
        variant = str(decision.arm)
        boolean = set(map(str, stored.arms.labels)) == BOOLEANS.keys()
    metadata = schemas.FlagMetadata(decision.ticket, decision.probability)
    return Flag(name, BOOLEANS[variant] if boolean else variant, "SPLIT", variant, metadata), sequence


def _retired(stored: StoredLearner) -> int:
    """Return how many arms of the learner, in all stages, are not available any more."""
    seen = {str(stage.arms.label(place)) for stage in stored.stages for place in range(stage.n)}
    return len(seen.difference(stored.arms.available_names))


def _failure(error: Exception, name: str) -> Flag:
    """Return the error of a flag."""
    code = getattr(error, "code", "")
    if code not in CODES:
        code = "FLAG_NOT_FOUND" if getattr(error, "status", BODY) == UNKNOWN else "GENERAL"
    return Flag(key=name or UNSET, errorCode=code, errorDetails=str(error))


def rejection(error: Exception, name: str) -> Answer:
    """Return the answer to a rejected evaluation, in the form of the protocol.

    Clients wait after 429 only: a full queue is therefore answered with 429. Errors of access have no body.
    """
    status = getattr(error, "status", BODY)
    if status in (401, 403):
        return Answer(status, b"", TEXT)
    body = schemas.encode(_failure(error, name))
    if isinstance(error, Refused) and status == BUSY:
        return Answer(429, body, headers=((b"retry-after", b"1"),))
    return Answer(BODY if status in (409, 421, 422) else status, body)
