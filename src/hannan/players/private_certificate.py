"""Certificates of players whose moves are private."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from hannan.players.certificate import Certificate


@dataclass(frozen=True)
class PrivateCertificate(Certificate):
    """Certificate of a private learner: as `Certificate`, with the privacy of all moves together.

    Parameters
    ----------
    privacy : str, optional
        Privacy of all moves together, or the reason why none is stated.
    private_if : str, optional
        Assumptions of the privacy statement.
    private_by : str, optional
        Theorem of the privacy statement.
    parameters : tuple of (str, str), optional
        Parameters of the mechanism, as (label, text).
    """

    privacy: str = ""
    private_if: str = ""
    private_by: str = ""
    parameters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, plain: Certificate, **more: Any) -> Self:
        """Return a certificate with its privacy; `more` replaces fields."""
        return cls(**{**{field.name: getattr(plain, field.name) for field in fields(plain)}, **more})

    def _rows(self) -> list[tuple[str, str]]:
        return [("privacy", self.privacy), *super()._rows()]

    def _assumptions(self) -> list[tuple[str, str]]:
        return [*super()._assumptions(), *([("private if", self.private_if)] if self.private_if else [])]

    def _details(self) -> list[tuple[str, str]]:
        rows = super()._details()
        more = [("private by", self.private_by)] if self.private_by else []
        return [*rows[:-2], *more, *self.parameters, *rows[-2:]]
