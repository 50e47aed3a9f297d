"""Access to the service: access tokens with roles, and the host names that are accepted without tokens."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
from collections.abc import Iterable
from pathlib import Path

from hannan.serving import Refused

Headers = Iterable[tuple[bytes, bytes]]
#: Value of a Host header: a name or address, and a port.
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[0-9a-z._-]+)(?::[0-9]*)?", re.ASCII)
#: Size of the cache of valid Host headers.
MOST = 1000


class Hosts:
    """Host names of a service: those of this machine, and `names`.

    Parameters
    ----------
    names : iterable of str, optional
        Allowed host names in addition to localhost, 127.0.0.0/8 and [::1], without a port. "*" allows every name: use
        it only if a proxy or the application authenticates requests.

    Examples
    --------
    >>> hosts = Hosts(["decisions.example"])
    >>> [hosts.known(host) for host in (b"localhost:8414", b"127.0.0.2", b"[::1]:80", b"Decisions.example:443")]
    [True, True, True, True]
    >>> hosts.known(b"rebound.example:8414"), hosts.known(b"127.0.0.1.rebound.example")
    (False, False)
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(_checked(name) for name in ([names] if isinstance(names, str) else names))
        self._known: set[bytes] = set()

    def known(self, host: bytes) -> bool:
        """Return whether a Host header has the name of this machine, or one of `names`."""
        if host in self._known:
            return True
        name = _name(host)
        good = name is not None and (is_loopback(name) or not self._names.isdisjoint((name, "*")))
        if good and len(self._known) < MOST:
            self._known.add(host)
        return good

    def check(self, headers: Headers) -> None:
        """Raise Refused if a request has another host, or comes from another site."""
        given: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            given.setdefault(name, []).append(value)
        found = given.get(b"host", [])
        if len(found) != 1 or not self.known(found[0]):
            raise Refused(
                403,
                "without access tokens the Host header must be localhost, 127.0.0.0/8, [::1] or a host name that was "
                f"allowed; got {_shown(found)}. Allow a name with --host-name, or set up tokens with --keys",
                "host_not_allowed",
            )
        for origin in given.get(b"origin", []):
            if not self._same(origin, found[0]):
                raise _cross_site("the Origin header", [origin])
        if any(site not in (b"same-origin", b"none") for site in given.get(b"sec-fetch-site", [])):
            raise _cross_site("the Sec-Fetch-Site header", given[b"sec-fetch-site"])

    def _same(self, origin: bytes, host: bytes) -> bool:
        """Return whether a page of `origin` was served under `host`, or under one of `names` by a proxy."""
        scheme, _, place = origin.lower().partition(b"://")
        return scheme in (b"http", b"https") and (place == host.lower() or _name(place) in self._names)


def check_json(headers: Headers) -> None:
    """Raise Refused if a body is not application/json: a page of another site can send other types unasked."""
    kinds = [value for name, value in headers if name == b"content-type"]
    if len(kinds) != 1 or not is_json(kinds[0]):
        raise Refused(
            415, f"without access tokens the Content-Type of a body must be application/json; got {_shown(kinds)}"
        )


def is_json(kind: bytes) -> bool:
    """Return whether a Content-Type is application/json, with or without parameters."""
    return kind == b"application/json" or kind.partition(b";")[0].strip().lower() == b"application/json"


def is_loopback(name: str) -> bool:
    """Return whether a name, or an address (IPv6 in brackets or not), is that of the same machine.

    >>> [is_loopback(name) for name in ("localhost", "127.8.8.8", "[::1]", "::1", "0.0.0.0", "127.1", "")]
    [True, True, True, True, False, False, False]
    """
    bare = name[1:-1] if name.startswith("[") and ":" in name else name
    try:
        return name == "localhost" or ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def _name(host: bytes) -> str | None:
    """Return the name of a Host header in lower case, without its port; None if the header is malformed."""
    match = _HOST.fullmatch(host.decode("latin-1").lower())
    return None if match is None else match[1]


def _checked(name: str) -> str:
    given: object = name
    if isinstance(given, str) and (given == "*" or _name(given.encode()) == given.lower()):
        return given.lower()
    raise ValueError(f"a host name must be a name or address without a port, such as decisions.example; got {name!r}")


def _cross_site(what: str, values: list[bytes]) -> Refused:
    return Refused(
        403,
        f"without access tokens {what} must be that of the service itself; got {_shown(values)}",
        "cross_site_request",
    )


def _shown(values: list[bytes]) -> str:
    return ", ".join(repr(value[:100].decode("latin-1")) for value in values[:3]) or "none"


ROLES = ("act", "observe", "admin")
#: Smallest length of a secret; a shorter one could be guessed.
MIN_SECRET_LENGTH = 16


class Access:
    """Access tokens and their roles.

    Parameters
    ----------
    lines : iterable of str, optional
        Access tokens as ROLE:SECRET, with the roles act, observe and admin; admin includes the other two. Empty lines
        and lines that begin with # are ignored. Default: no tokens.
    host_names : iterable of str, optional
        Host names that are accepted without tokens, in addition to those of this machine.

    Notes
    -----
    Without tokens every role is granted to requests whose Host header names this machine or one of `host_names`, and
    that do not come from another site.

    Examples
    --------
    >>> access = Access(["act:0123456789abcdef", "admin:fedcba9876543210"])
    >>> access.roles(b"Bearer 0123456789abcdef"), access.roles(b"Bearer unknown"), access.roles(None)
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
                    f"an access token must be ROLE:SECRET with a role of {', '.join(ROLES)}; got role {role[:20]!r}"
                )
            if len(key) < MIN_SECRET_LENGTH or not key.isascii() or any(c.isspace() for c in key):
                raise ValueError(
                    f"the secret of a token must be at least {MIN_SECRET_LENGTH} ASCII characters without spaces"
                )
            found.setdefault(_digest(key.encode()), set()).update(ROLES if role == "admin" else (role,))
        self._roles = {digest: frozenset(roles) for digest, roles in found.items()}
        self.guarded, self.hosts = bool(self._roles), Hosts(host_names)

    def roles(self, header: bytes | None) -> frozenset[str] | None:
        """Return the roles of an Authorization header, or None if its token is missing or unknown."""
        if not self.guarded:
            return frozenset(ROLES)
        if header is None or header[:7].lower() != b"bearer ":
            return None
        # Compare digests: the time of the lookup then reveals nothing about the secret.
        return self._roles.get(_digest(header[7:].strip()))

    @classmethod
    def of(cls, path: Path | None, host_names: Iterable[str] = ()) -> Access:
        """Return the tokens of a file, one ROLE:SECRET per line, and of the variable HANNAN_KEYS."""
        lines = [] if path is None else path.read_text(encoding="utf-8").splitlines()
        return cls([*lines, *os.environ.get("HANNAN_KEYS", "").split()], host_names)


def _digest(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=16).digest()
