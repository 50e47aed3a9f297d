"""Perturbed leader of a convex game: sums of the losses, state of a run, and solver.

Games on a ball, a box or a simplex run in the engine. A polytope is solved in Python, by linear programs for linear
losses and by an active-set Newton method for other losses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hannan import _engine, saving, validation
from hannan.mathematics import streams
from hannan.mathematics.convex.domains import Box, Domain, Simplex
from hannan.mathematics.convex.losses import Logistic, Loss, RankOne, SmoothedHinge
from hannan.mathematics.convex.noise import GammaNoise
from hannan.mathematics.convex.polytope import NotConverged, Polytope, descend, newton
from hannan.saving import fields
from hannan.validation import Array

__all__ = ["Leader", "NotConverged", "columns", "judge", "region_of"]

#: Losses of which only sums are stored, not one row per loss.
SUMMED = ("linear", "squared")


def columns(loss: Loss) -> tuple[_engine.Phi, Array, Array]:
    """Return (phi, z, y) for the engine, with one row per loss and labels multiplied into z."""
    z, phi = np.atleast_2d(loss.z), getattr(_engine.Phi, loss.kernel)
    if isinstance(loss, (Logistic, SmoothedHinge)):
        return phi, z * np.atleast_1d(loss.y)[:, None], np.zeros(len(z))
    y = np.atleast_1d(getattr(loss, "y", np.zeros(len(z))))
    return phi, np.ascontiguousarray(z), np.ascontiguousarray(y, dtype=np.float64)


def region_of(domain: Domain) -> _engine.Region:
    """Return a domain as a region of the engine."""
    low = high = np.zeros(0)
    if isinstance(domain, Box):
        low, high = domain.box
    elif isinstance(domain, Simplex):
        low, high = np.zeros(domain.d), np.full(domain.d, np.inf)
    return _engine.Region(getattr(_engine.SetKind, domain.kernel), domain.center, domain.radius, low, high)


def judge(status: _engine.Solved, left: float) -> None:
    """Raise an error unless the solver succeeded."""
    if status == _engine.Solved.failed:
        raise ValueError("phi' must be finite on the domain; got a NaN or infinite value from `derivative`")
    if status != _engine.Solved.fine:
        raise NotConverged(f"the solver did not converge; its distance from the argmin is {left:.3g}")


class Leader:
    """Solver of argmin_X G(x) + <b, x>: `act` draws b and returns the move, `observe` adds a loss to G.

    `drawn(kernel of the noise, d)` replaces the random stream of the state if it is given; its draws are never stored
    in the state, because the state may be saved. `output` is the scale of the Gamma noise that is added to a move
    before the projection.
    """

    def __init__(
        self, domain: Domain, rules: _engine.PointRules | None = None, seed: int = 0, run: int = 0,
        output: float = 0.0, drawn: Callable[[str, int], Array] | None = None,
    ) -> None:  # fmt: skip
        self.domain, self.rules = domain, rules
        self.run: Any = _engine.Leader(region_of(domain), rules, streams.words(seed, run))
        self._targets = 0.0  # Sum of y^2/2 of the squared losses.
        self._rows: tuple[str, float] | None = None  # Kind and parameter of the losses that are stored row by row.
        self._own: RankOne | None = None
        self._output, self._drawn = output, drawn
        self._kept: Array | None = None

    # Observed losses

    @property
    def curved(self) -> int:
        """Number of losses that are not linear."""
        return int(self.run.curved)

    def prepare(self, loss: Loss, more: int = 1) -> None:
        """Reserve memory for `more` losses of a kind; raise ValueError if the kind differs from earlier losses."""
        kind = loss.kernel, float(getattr(loss, "parameter", 0.0))
        phi = getattr(_engine.Phi, loss.kernel)
        if loss.kernel in SUMMED:
            self.run.prepare(phi, 0.0, more)
            return
        own = loss if isinstance(loss, RankOne) else None
        if self._rows is None:
            self._rows, self._own = kind, own
        same = own is None or (self._own is not None and own.derivative is self._own.derivative)
        if kind != self._rows or not same:
            raise ValueError(
                "a player accepts one kind of loss in addition to linear and squared losses; "
                f"got {type(loss).__name__} after {self._rows[0]} losses"
            )
        self.run.prepare(phi, kind[1], more, None if self._own is None else slopes_of(self._own))

    # Moves

    @property
    def stepped(self) -> bool:
        """True if games are played in Python, one round at a time."""
        return self.domain.kernel == "other" or self._output > 0.0 or self._drawn is not None

    def act(self) -> tuple[Array, float]:
        """Draw the noise of a round and return (move, largest distance from the exact argmin).

        An error leaves the state unchanged.
        """
        self.run.mark()
        try:
            if self._drawn is not None:
                x, distance = self._act_by_drawn()
            elif self.domain.kernel == "other":
                x, distance = self._act_in_polytope()
            else:
                judge(self.run.act(), self.run.last)
                x, distance = self.run.move, self.run.last
            return (x, distance) if self._output == 0.0 else self._hidden(x, distance)
        except BaseException:
            self.run.back()
            raise

    def _hidden(self, x: Array, distance: float) -> tuple[Array, float]:
        """Return the move with output noise, and the required accuracy: the residual itself would reveal losses."""
        assert self.rules is not None
        d, kernel = self.domain.d, GammaNoise.kernel
        w = self.run.draw(getattr(_engine.NoiseKind, kernel)) if self._drawn is None else self._drawn(kernel, d)
        # On average the move has at most this distance from the argmin: r + E||w||.
        self.run.farther(self.rules.accuracy + d * self._output - distance)
        return self.domain.project(x + self._output * w), self.rules.accuracy

    def _act_by_drawn(self) -> tuple[Array, float]:
        """Return a move with noise from `drawn`, which is not written to the state, because the state may be saved."""
        assert self.rules is not None
        assert self._drawn is not None
        run, rules = self.run, self.rules
        before = run.move if run.ridge > 0.0 else self.domain.center
        run.begin()
        b = self._drawn(rules.noise.name, self.domain.d) if self._kept is None else self._kept
        self._kept = None if rules.fresh else b
        ridge = float(rules.ridge_of(self.curved, run.scale))
        if ridge == 0.0:
            x, left = self.domain.argmin(run.linear + run.scale * b), 0.0
        else:
            x, left = self.surely(run.scale * b, ridge, rules.accuracy * ridge, before)
        run.moved(x, ridge, left)
        return x, run.last

    def play(self, losses: Loss) -> Array:
        """Play a sequence of losses and return the moves."""
        phi, z, y = columns(losses)
        moves = np.zeros(z.shape)
        if self.stepped:
            for t, loss in enumerate(losses):
                moves[t], _ = self.act()
                self.observe(moves[t], loss)
            return moves
        self.prepare(losses, len(z))
        if losses.kernel == "squared":
            self._targets += 0.5 * float(y @ y)
        judge(self.run.play(phi, z, y, np.zeros(0, dtype=np.int64), np.zeros(0), moves), self.run.last)
        return moves

    def observe(self, x: Array, loss: Loss) -> float:
        """Add a loss to the sum, and its value at x to the cumulative loss of the player."""
        phi, z, y = columns(loss)
        self.prepare(loss)
        if isinstance(loss, RankOne):
            y = np.atleast_1d(loss.value(x))
        if loss.kernel == "squared":
            self._targets += 0.5 * float(y[0]) ** 2
        return float(self.run.observe(x, phi, z[0], float(y[0])))

    def absorb(self, losses: Loss) -> None:
        """Add a sequence of losses to the sum, without counting them in the cumulative loss."""
        phi, z, y = columns(losses)
        self.prepare(losses, len(z))
        if losses.kernel == "squared":
            self._targets += 0.5 * float(y @ y)
        self.run.absorb(phi, z, y)

    def minimise(self, noise: Array, ridge: float, tolerance: float, start: Array | None = None) -> tuple[Array, float]:
        """Return (argmin_X G + <noise, x> + (ridge/2)||x - center||^2, residual); the state is unchanged."""
        if self.curved == 0 and ridge == 0.0:
            return self.domain.argmin(self.run.linear + noise), 0.0
        start = np.array(self.domain.center if start is None else start)
        if self.domain.kernel == "other":
            return self._newton(start, noise, ridge, tolerance)
        status, x, left = self.run.minimise(noise, ridge, tolerance, start)
        judge(status, left)
        return x, left

    def surely(self, noise: Array, ridge: float, tolerance: float, start: Array) -> tuple[Array, float]:
        """Return the result of `minimise`; if Newton's method does not converge, use accelerated gradient steps.

        An error instead of a move would reveal information about the losses. The objective is strongly convex, so the
        gradient steps converge, unless the tolerance is below the rounding error of the gradient.
        """
        try:
            return self.minimise(noise, ridge, tolerance, start)
        except NotConverged:
            center = self.domain.center
            return descend(
                lambda x: self.slope(x) + noise + ridge * (x - center), self.domain.project, ridge, tolerance, start
            )

    # Hindsight

    @property
    def linear(self) -> Array:
        """Sum of the linear losses and of the linear parts of the squared losses."""
        return np.asarray(self.run.linear)

    def hindsight_ridge(self) -> tuple[float, float]:
        """Return (ridge, tolerance) of the solver without noise, near its accuracy; the remaining gap is measured."""
        size = float(self.curved) + float(np.abs(self.run.linear).sum()) + float(np.abs(self.run.quadratic).sum())
        return (1e-11 * size, 1e-11 * size) if self.domain.kernel != "other" else (1e-6 * size, 1e-9 * size)

    def slope(self, x: Array) -> Array:
        """Return grad G(x), without the ridge."""
        g = self.run.slope(x)
        if g is None:
            judge(_engine.Solved.failed, np.inf)
        return np.asarray(g)

    def value(self, x: Array) -> float:
        """Return G(x) without the ridge and without user-defined losses; squared losses include their targets."""
        return float(self.run.value(x)) + self._targets

    # Saving

    def content(self) -> dict[str, Any]:
        """Return the state as JSON data, field by field, from which a run resumes with identical bits."""
        fields = self.run.fields()
        fields["targets_sum"] = self._targets
        return {name: _written(value) for name, value in fields.items()}

    def resume(self, content: dict[str, Any]) -> None:
        """Restore the state of `content` after checking every field."""
        if not isinstance(content, dict):
            raise ValueError(f"corrupt file: expected a dict of fields of a leader; found {validation.brief(content)}")
        named = {name: _read(value, name) for name, value in content.items()}
        targets = named.pop("targets_sum", None)
        targets = fields.number(targets, "targets_sum", 0.0, fields.LARGE)
        try:
            self.run.restore(named)
        except (TypeError, RuntimeError) as error:
            raise ValueError(f"corrupt file: fields of the leader are invalid: {error}") from None
        self._targets = targets
        phi = _engine.Phi(named["phi"]).name
        self._rows = None if phi == "linear" else (phi, float(named["parameter"]))

    def __getstate__(self) -> dict[str, Any]:
        if self._own is not None:
            raise TypeError("a leader with user-defined losses cannot be pickled: functions cannot be stored")
        rules = None if self.rules is None else self.rules.fields() | {"noise": self.rules.noise.name}
        return self.__dict__ | {"rules": rules, "run": self.run.fields()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rules = state["rules"]
        if rules is not None:
            rules = _engine.PointRules(**rules | {"noise": getattr(_engine.NoiseKind, rules["noise"])})
        run = _engine.Leader(region_of(state["domain"]), rules, np.zeros(4, dtype=np.uint64))
        run.restore(state["run"])
        self.__dict__.update(state, rules=rules, run=run)

    # Polytopes

    def _act_in_polytope(self) -> tuple[Array, float]:
        assert self.rules is not None
        noise = self.run.perturb()
        ridge = float(self.rules.ridge_of(self.curved, self.run.scale))
        x, left = self.domain.argmin(self.run.linear + noise), 0.0
        if ridge > 0.0:
            x, left = self._newton(x, noise, ridge, self.rules.accuracy * ridge)
        self.run.moved(x, ridge, left)
        return x.copy(), self.run.last

    def _newton(self, x: Array, noise: Array, ridge: float, tolerance: float) -> tuple[Array, float]:
        """Return the minimizer in a polytope by Newton's method, and its residual."""
        domain = self.domain
        assert isinstance(domain, Polytope)

        def slope(x: Array) -> Array:
            return self.slope(x) + noise + ridge * (x - domain.center)

        def hessian(x: Array) -> Array:
            H = self.run.curvature(x, ridge)
            if H is None:
                judge(_engine.Solved.failed, np.inf)
            return np.asarray(H)

        return newton(*domain.rows, slope, hessian, tolerance, domain.project(x))


def slopes_of(loss: RankOne) -> Callable[[Array, bool], Array]:
    """Return a function for the engine that computes phi', or phi' and phi'', of a user-defined loss at margins."""

    def slopes(u: Array, curved: bool) -> Array:
        out = np.empty((2 if curved else 1, len(u)))
        out[0] = loss.slope(u)
        if curved:
            out[1] = loss.bend(u)
        return out

    return slopes


def _written(value: Any) -> Any:
    """Return a field as JSON data, with arrays and integers as hexadecimal digits."""
    if isinstance(value, dict):
        return {name: _written(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return saving.to_hex(np.array(value, dtype=np.uint64))
    return saving.to_hex(value) if isinstance(value, np.ndarray) else value


def _read(value: Any, name: str) -> Any:
    """Return a field from JSON data; the engine checks the ranges."""
    if isinstance(value, dict):
        return {key: _read(inner, key) for key, inner in value.items()}
    if isinstance(value, str):
        words = name == "stream"
        found = fields.bits(value, 4 if words else len(value) // 16, name, "u" if words else "f")
        return tuple(map(int, found)) if words else found
    if isinstance(value, float):
        return fields.number(value, name, -fields.LARGE, fields.LARGE)
    return fields.whole(value, name)


def best_in_hindsight(leader: Leader, own: Iterable[Loss] = (), start: Array | None = None) -> float:
    """Return a lower bound on L*, within rounding: G(x) - max_y <grad G(x), x - y> at the computed argmin x.

    `own` are the user-defined losses, whose values the engine cannot compute. For linear losses the result is exact.
    """
    domain = leader.domain
    if leader.curved == 0:
        return float(-domain.support(-leader.linear))
    x = leader.minimise(np.zeros(domain.d), *leader.hindsight_ridge(), start)[0]
    if start is not None:
        start[:] = x
    value = leader.value(x) + sum(float(loss.value(x)) for loss in own)
    slope = leader.slope(x)
    gap = float(slope @ x + domain.support(-slope))
    return value - max(gap, 0.0)
