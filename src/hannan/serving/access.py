"""Access to a service: bearer tokens with roles, kept as digests; without tokens, requests of this machine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from hannan.serving.hosts import Hosts

ROLES = ("act", "observe", "admin")
#: Shorter keys could be guessed.
SHORTEST = 16


class Access:
    """Access tokens and their roles; `admin` may do everything.

    Without tokens every role is granted to requests that name this machine in their Host header, or one of
    `host_names`, and that do not come from another site. See `hannan.serving.hosts`.

    >>> access = Access(["act:0123456789abcdef", "admin:fedcba9876543210"])
    >>> access.roles(b"Bearer 0123456789abcdef"), access.roles(b"Bearer nobody"), access.roles(None)
    (frozenset({'act'}), None, None)
    """

    def __init__(self, lines: Iterable[str] = (), host_names: Iterable[str] = ()) -> None:
        found: dict[bytes, set[str]] = {}
        for line in lines:
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            role, _, key = text.partition(":")
            if role not in ROLES:
                raise ValueError(
                    f"a key must be ROLE:SECRET, the role one of {', '.join(ROLES)}; got role {role[:20]!r}"
                )
            if len(key) < SHORTEST or not key.isascii() or any(c.isspace() for c in key):
                raise ValueError(f"the secret of a key must be at least {SHORTEST} characters of ASCII without spaces")
            found.setdefault(_digest(key.encode()), set()).update(ROLES if role == "admin" else (role,))
        self._roles = {digest: frozenset(roles) for digest, roles in found.items()}
        self.guarded, self.hosts = bool(self._roles), Hosts(host_names)

    def roles(self, header: bytes | None) -> frozenset[str] | None:
        """What the bearer of an Authorization header may do; None where the key is missing or unknown."""
        if not self.guarded:
            return frozenset(ROLES)
        if header is None or header[:7].lower() != b"bearer ":
            return None
        # Looked up by a digest: how long it takes says nothing of the key.
        return self._roles.get(_digest(header[7:].strip()))

    @classmethod
    def of(cls, path: Path | None, host_names: Iterable[str] = ()) -> Access:
        """The keys of a file, a line each, ROLE:SECRET, and of the variable HANNAN_KEYS, separated by spaces."""
        lines = [] if path is None else path.read_text(encoding="utf-8").splitlines()
        return cls([*lines, *os.environ.get("HANNAN_KEYS", "").split()], host_names)


def _digest(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=16).digest()
