"""The perturbed leader of a convex game: the losses seen, the state of a run, and the argmin.

On a ball, a box and a simplex everything happens in the engine; a polytope is served here, by linear programs
for linear losses and by Newton steps within the polytope (`active_set`) for the others.
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

#: Losses that have no row: they are in the sums.
SUMMED = ("linear", "squared")


def columns(loss: Loss) -> tuple[_engine.Phi, Array, Array]:
    """(phi, z, y) as the engine takes them: one row per loss, labels folded into z."""
    z, phi = np.atleast_2d(loss.z), getattr(_engine.Phi, loss.kernel)
    if isinstance(loss, (Logistic, SmoothedHinge)):
        return phi, z * np.atleast_1d(loss.y)[:, None], np.zeros(len(z))
    y = np.atleast_1d(getattr(loss, "y", np.zeros(len(z))))
    return phi, np.ascontiguousarray(z), np.ascontiguousarray(y, dtype=np.float64)


def region_of(domain: Domain) -> _engine.Region:
    """A set as the engine takes it."""
    low = high = np.zeros(0)
    if isinstance(domain, Box):
        low, high = domain.box
    elif isinstance(domain, Simplex):
        low, high = np.zeros(domain.d), np.full(domain.d, np.inf)
    return _engine.Region(getattr(_engine.SetKind, domain.kernel), domain.center, domain.radius, low, high)


def judge(status: _engine.Solved, left: float) -> None:
    """Raise unless a move is fine."""
    if status == _engine.Solved.failed:
        raise ValueError("phi' must be finite on the domain; the derivative given is not")
    if status != _engine.Solved.fine:
        raise NotConverged(f"the solver must converge to make a move; it is {left:.3g} from the argmin")


class Leader:
    """argmin_X G(x) + <b, x>: `act` draws b and moves (by the rules), `observe` adds a loss to G.

    `drawn(kernel of the noise, d)`, where it is given, draws in the place of the state's own stream; what it
    drew is never part of the state, which may be saved. `output` is the scale of the Gamma noise that is
    added to a move before it is projected.
    """

    def __init__(
        self, domain: Domain, rules: _engine.PointRules | None = None, seed: int = 0, run: int = 0,
        output: float = 0.0, drawn: Callable[[str, int], Array] | None = None,
    ) -> None:  # fmt: skip
        self.domain, self.rules = domain, rules
        self.run: Any = _engine.Leader(region_of(domain), rules, streams.words(seed, run))
        self._targets = 0.0  # sum of y^2/2 of the squared losses
        self._rows: tuple[str, float] | None = None  # the kind of loss that has rows, and its parameter
        self._own: RankOne | None = None
        self._output, self._drawn = output, drawn
        self._kept: Array | None = None

    # What was seen

    @property
    def curved(self) -> int:
        """How many losses were not linear."""
        return int(self.run.curved)

    def prepare(self, loss: Loss, more: int = 1) -> None:
        """Make room for `more` losses of a kind, or refuse the kind."""
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
                "one player takes one kind of loss that is neither linear nor squared; "
                f"got {type(loss).__name__} after another"
            )
        self.run.prepare(phi, kind[1], more, None if self._own is None else slopes_of(self._own))

    # Moves

    @property
    def stepped(self) -> bool:
        """Whether its games are played here, one round at a time."""
        return self.domain.kernel == "other" or self._output > 0.0 or self._drawn is not None

    def act(self) -> tuple[Array, float]:
        """Draw the round's noise and move: (x, the largest distance from the exact argmin). A refusal moves nothing."""
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
        """The move with output noise, and the distance that was promised of the solver: what it left would tell."""
        assert self.rules is not None
        d, kernel = self.domain.d, GammaNoise.kernel
        w = self.run.draw(getattr(_engine.NoiseKind, kernel)) if self._drawn is None else self._drawn(kernel, d)
        # On average the move is so far from the argmin: r + E||w||.
        self.run.farther(self.rules.accuracy + d * self._output - distance)
        return self.domain.project(x + self._output * w), self.rules.accuracy

    def _act_by_drawn(self) -> tuple[Array, float]:
        """A move whose noise comes from outside; it is not written to the state, which may be saved."""
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
        """Move and observe through a sequence of losses: the moves."""
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
        """Add a loss to the sum, and its value at x to the player's own loss."""
        phi, z, y = columns(loss)
        self.prepare(loss)
        if isinstance(loss, RankOne):
            y = np.atleast_1d(loss.value(x))
        if loss.kernel == "squared":
            self._targets += 0.5 * float(y[0]) ** 2
        return float(self.run.observe(x, phi, z[0], float(y[0])))

    def absorb(self, losses: Loss) -> None:
        """Add a sequence of losses to the sum, and to nothing else."""
        phi, z, y = columns(losses)
        self.prepare(losses, len(z))
        if losses.kernel == "squared":
            self._targets += 0.5 * float(y @ y)
        self.run.absorb(phi, z, y)

    def minimise(self, noise: Array, ridge: float, tolerance: float, start: Array | None = None) -> tuple[Array, float]:
        """(argmin_X G + <noise, x> + (ridge/2)||x - center||^2, its residual); apart from the game's state."""
        if self.curved == 0 and ridge == 0.0:
            return self.domain.argmin(self.run.linear + noise), 0.0
        start = np.array(self.domain.center if start is None else start)
        if self.domain.kernel == "other":
            return self._newton(start, noise, ridge, tolerance)
        status, x, left = self.run.minimise(noise, ridge, tolerance, start)
        judge(status, left)
        return x, left

    def surely(self, noise: Array, ridge: float, tolerance: float, start: Array) -> tuple[Array, float]:
        """`minimise`, and where Newton steps give up, accelerated gradient steps for as long as it takes.

        A refusal to move would tell of the losses. The objective is strongly convex, so the steps converge;
        only a tolerance below the rounding of the gradient stops them.
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
        """The sum of the linear losses (and of the linear parts of the squared ones)."""
        return np.asarray(self.run.linear)

    def hindsight_ridge(self) -> tuple[float, float]:
        """(ridge, tolerance) without noise: as small as the solver can do; the gap that is left is measured."""
        size = float(self.curved) + float(np.abs(self.run.linear).sum()) + float(np.abs(self.run.quadratic).sum())
        return (1e-11 * size, 1e-11 * size) if self.domain.kernel != "other" else (1e-6 * size, 1e-9 * size)

    def slope(self, x: Array) -> Array:
        """grad G(x), without ridge."""
        g = self.run.slope(x)
        if g is None:
            judge(_engine.Solved.failed, np.inf)
        return np.asarray(g)

    def value(self, x: Array) -> float:
        """G(x), without ridge and without the user's own losses; squared ones include their targets."""
        return float(self.run.value(x)) + self._targets

    # Saving

    def content(self) -> dict[str, Any]:
        """Everything that is needed to go on later, bit for bit, as JSON data: field by field."""
        fields = self.run.fields()
        fields["targets_sum"] = self._targets
        return {name: _written(value) for name, value in fields.items()}

    def resume(self, content: dict[str, Any]) -> None:
        """Go on from `content`; every field is checked by its own rule before one is taken."""
        if not isinstance(content, dict):
            raise ValueError(f"its leader must be fields by name; got {validation.brief(content)}")
        named = {name: _read(value, name) for name, value in content.items()}
        targets = named.pop("targets_sum", None)
        targets = fields.number(targets, "targets_sum", 0.0, fields.LARGE)
        try:
            self.run.restore(named)
        except (TypeError, RuntimeError) as error:
            raise ValueError(f"its leader must have the fields of one: {error}") from None
        self._targets = targets
        phi = _engine.Phi(named["phi"]).name
        self._rows = None if phi == "linear" else (phi, float(named["parameter"]))

    def __getstate__(self) -> dict[str, Any]:
        if self._own is not None:
            raise TypeError("a leader with losses of your own cannot be pickled: their slopes are functions")
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
        """Newton steps in a polytope."""
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
    """phi', or phi' and phi'', of a user's own phi at a block of margins, as the engine asks for them."""

    def slopes(u: Array, curved: bool) -> Array:
        out = np.empty((2 if curved else 1, len(u)))
        out[0] = loss.slope(u)
        if curved:
            out[1] = loss.bend(u)
        return out

    return slopes


def _written(value: Any) -> Any:
    """A field as JSON data: arrays and words by their bits."""
    if isinstance(value, dict):
        return {name: _written(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return saving.to_hex(np.array(value, dtype=np.uint64))
    return saving.to_hex(value) if isinstance(value, np.ndarray) else value


def _read(value: Any, name: str) -> Any:
    """A field from JSON data; what its numbers may be, the engine knows."""
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
    """A lower bound on L* that is within rounding of it: G(x) - max_y <grad G(x), x - y>, x the argmin found.

    `own` are the user's own losses, whose values only they can give. For linear losses it is exact.
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
