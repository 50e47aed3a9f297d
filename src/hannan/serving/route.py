"""What a path of the service is: who may use it, what it takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hannan.serving.service import Answer, Request, Service


class Route(NamedTuple):
    """A method and path, who may use it (None: everybody, "": whoever has a key), and what they give and get."""

    method: str
    path: str
    role: str | None
    action: Callable[[Service, Request], Answer]
    body: Any = None
    answers: tuple[Any, ...] = ()
