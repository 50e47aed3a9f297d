"""The compiled engine of hannan: smoothings, rounds, players, games."""

from collections.abc import Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray

class Function(enum.Enum):
    exp = 0

    exp_soon = 1

    exp_small = 2

    expm1 = 3

    log = 4

    log1p = 5

    erfc = 6

    erfcx = 7

def each(
    function: Function,
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    by_fours: bool = True,
) -> object:
    """f(x_i) for every i, four at a time or one by one: the same bits."""

def power(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)], a: float
) -> object:
    """x_i^a for every x_i >= 0."""

def uniforms(
    words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")], count: int
) -> object:
    """The next uniforms of a stream; its words move on."""

def log_evidence(R: float, V: float) -> float:
    """
    log of the integral of e^(eta R - eta^2 V) over [0, 1/2]: the weight of Squint.
    """

def instruction_set() -> str:
    """ "v3" (AVX2 and FMA) or "base"."""

def use_instruction_set(name: str) -> bool:
    """Choose "base", "v3" or "" (the best); False where this machine cannot."""

class Setting(enum.Enum):
    experts = 0

    bandit = 1

    expert_bandit = 2

class Smoothing(enum.Enum):
    entropy = 0

    tsallis = 1

    log_barrier = 2

    exponential = 3

    gamma = 4

    weibull = 5

    frechet = 6

    pareto = 7

    laplace = 8

    gaussian = 9

    table = 10

    foreign = 11

    squint = 12

    ada_normal_hedge = 13

    ml_poly = 14

    fixed_share = 15

    fitted_barrier = 16

    tsallis_shannon = 17

    dropout = 18

    random_walk = 19

    adahedge = 20

class Estimator(enum.Enum):
    importance_weighted = 0

    geometric = 1

    conditional = 2

    reduced_variance = 3

    implicit = 4

class Setup:
    """A learner as the engine takes it: plain fields, checked."""

    def __init__(
        self,
        *,
        setting: Setting,
        n: int,
        actions: int,
        smoothing: Smoothing,
        parameters: Sequence[float],
        schedule: tuple[float, float, float, float],
        estimator: Estimator,
        estimator_parameter: float,
        low: float,
        high: float,
        gains: bool,
        clip: float,
        kappa: float,
        rate: float,
        gamma: float,
        log_prior: Sequence[float],
        law: object | None,
    ) -> None: ...
    @property
    def n(self) -> int: ...
    @property
    def actions(self) -> int: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...

def perturbed_leaders(
    law: Smoothing,
    parameters: Sequence[float],
    L: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: float,
) -> tuple[object, float, bool]:
    """
    (p, E max_j (Z_j - d_j), whether the quadrature converged) of FTPL at L.
    """

def perturbed_nodes(
    law: Smoothing,
    parameters: Sequence[float],
    L: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: float,
    room: int,
) -> tuple[int, object, object]:
    """
    (how many, nodes w, masses G dw) of the rule that serves the Hessian; -1 where it did not converge.
    """

def perturbed_ratios(
    law: Smoothing,
    parameters: Sequence[float],
    gaps: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    nodes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> object:
    """r(w_q + d_i) for every node and arm."""

def regularized_leaders(
    L: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: float,
    alpha: float,
) -> tuple[object, float, bool]:
    """
    (w, their sum, whether it converged) of Tsallis, or of the log-barrier (alpha = 0).
    """

def regularized_value(
    L: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: float,
    alpha: float,
) -> float:
    """<L, p> + scale F(p)."""

class Book:
    """The tickets of a player: open, late, forgotten."""

    def __init__(self, id: object, move_type: object) -> None: ...
    @property
    def id(self) -> object: ...
    @id.setter
    def id(self, arg: object, /) -> None: ...
    @property
    def round(self) -> int:
        """How many moves were drawn."""

    @property
    def open_moves(self) -> object:
        """The tickets whose loss has not come yet."""

class Player(Book):
    """A run at play, with its tickets."""

    def __init__(
        self,
        setup: object,
        words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        noise: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        id: object,
        move_type: object,
    ) -> None: ...

def charge_sleepers(
    p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    awake: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)],
    losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """Every sleeper gets the loss <p, l> of the awake."""

class Runs:
    """The states of the runs of a game."""

    def __init__(
        self,
        setup: object,
        words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order="C", device="cpu")],
        noise: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order="C", device="cpu")],
    ) -> None: ...
    def bandit(
        self,
        first: int,
        last: int,
        losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        per_run: int,
        per_round: int,
        coins: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order="C", device="cpu")],
        rounds: int,
        ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        own: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        counts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
        moves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu")],
        advice: object | None = None,
    ) -> int:
        """
        Play a block of bandit rounds with runs first .. last - 1: -1, or the round at which a smoothing failed.
        """

    def experts(
        self,
        which: int,
        losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        start: int,
        streams: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order="C", device="cpu")],
        first: int,
        last: int,
        totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        rounds: int,
        ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        own: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        best: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        counts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
        moves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu")],
        fictitious: bool,
    ) -> int:
        """
        Play a block with one state, drawing for runs first .. last - 1: -1; t n + i at a bad loss; -2 - t on failure.
        """

    def own(self) -> object:
        """Own normalised loss of every run."""

    def least(self) -> object:
        """min_i L_i of every run."""

    def largest_span(self) -> float:
        """Of AdaHedge: the largest span of a round, of all runs."""

def survey(
    losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: int,
    rounds: int,
    n: int,
    low: float,
    high: float,
    sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    most: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> int:
    """
    Check a block and add its rows to `sums`: -1, or the place of the first bad entry.
    """

def expert_losses(
    losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: int,
    stride: int,
    advice: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
    n: int,
    actions: int,
    rounds: int,
    sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    most: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """Add each expert's loss to `sums`."""

def toss(
    coins: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    stride: int,
    rounds: int,
    n: int,
) -> object:
    """Losses 0 or 1, drawn from their means."""

class PointLoss(enum.Enum):
    absolute = 0

    squared = 1

    pinball = 2

    log = 3

class Trouble(enum.Enum):
    none = 0

    asleep = 1

    outside = 2

    infinite = 3

    failed = 4

class Price:
    """loss(f, y) of a forecast, at most `cap`."""

    def __init__(self, kind: PointLoss, parameter: float, cap: float) -> None: ...

class Tally:
    """Sums over the settled rows of a table."""

    def __init__(self, n: int) -> None: ...
    @property
    def mixture(self) -> float:
        """The loss of the mixture."""

    @property
    def expected(self) -> float:
        """The sum of <p, l>."""

    @property
    def settled(self) -> int:
        """Rows with a target."""

    @property
    def losses(self) -> object:
        """The loss of each expert."""

    @property
    def beside(self) -> object:
        """The mixture's loss in the waking rows of each expert."""

    @property
    def awake(self) -> object:
        """The waking rows of each expert."""

    def add(
        self,
        losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        mixture: float,
        expected: float,
    ) -> None:
        """A row: the losses (NaN asleep), the mixture's, and <p, l>."""

MARK: int = 10

def combine_rows(
    player: object,
    tally: Tally,
    price: Price,
    forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    mixed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    played: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    noted: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> object: ...
def note(
    player: object,
    tally: Tally,
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    to: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def prices(
    price: Price,
    forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> object:
    """loss(f_ti, y_t), for every cell."""

def oracle_pass(
    price: Price,
    forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple:
    """sum_t loss(<q, f_t>, y_t), and its gradient in q."""

def replay_rows(
    player: object,
    actions: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    propensities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    advice: object | None,
    floor: float,
    coins: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    model: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> object: ...

class Myga:
    """MYGA's experts and thresholds, with their losses."""

    def __init__(self, actions: int, experts: int, thresholds: int, eta: float, gamma: float, step: float) -> None: ...
    def mix(
        self, advice: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> object:
        """(q, majority, p) for a row of advice, flat."""

    def charge(
        self,
        advice: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        majority: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        arm: int,
        estimate: float,
    ) -> None: ...
    def restore(
        self,
        losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        mistrust: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def losses(self) -> object: ...
    @property
    def mistrust(self) -> object: ...

class SetKind(enum.Enum):
    ball = 0

    box = 1

    simplex = 2

    other = 3

class Phi(enum.Enum):
    """phi of a loss phi(<z, x>)."""

    linear = 0

    squared = 1

    logistic = 2

    huber = 3

    hinge = 4

    own = 5

class NoiseKind(enum.Enum):
    gamma = 0

    gaussian = 1

class Solved(enum.Enum):
    fine = 0

    stuck = 1

    failed = 2

class Region:
    """
    A convex set: a ball by center and radius, a box and a simplex by low and high.
    """

    def __init__(
        self,
        kind: SetKind,
        center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        radius: float,
        low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class PointRules:
    """Noise, the schedule scale = c sqrt(a + b t + d own), and the ridge."""

    def __init__(
        self,
        *,
        noise: NoiseKind,
        fresh: bool,
        c: float,
        a: float,
        b: float,
        d: float,
        ridge: float,
        loss_ridge: float,
        scale_ridge: float,
        accuracy: float,
    ) -> None: ...
    def fields(self) -> dict:
        """What it was made of, by name."""

    @property
    def fresh(self) -> bool: ...
    @property
    def noise(self) -> NoiseKind: ...
    @property
    def accuracy(self) -> float: ...
    def ridge_of(self, curved: int, scale: float) -> float:
        """The ridge after so many curved losses, at a scale."""

class Leader:
    """
    argmin_X G(x) + <b, x>: the losses seen, the state of a run, the solver.
    """

    def __init__(
        self,
        region: object,
        rules: object | None,
        words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def prepare(self, phi: Phi, parameter: float, more: int, slopes: object | None = None) -> None:
        """Room for so many losses of a kind."""

    def act(self) -> Solved:
        """Draw the round's noise and move."""

    def play(
        self,
        phi: Phi,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        marks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        own: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        moves: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")] | None,
    ) -> Solved:
        """
        Rounds against losses of one kind; own losses after the rounds of `marks`.
        """

    def minimise(
        self,
        noise: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ridge: float,
        tolerance: float,
        start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        warm: bool = False,
    ) -> object:
        """
        (status, argmin of G + <noise, x> + (ridge/2)||x - center||^2, its residual); with the run's model if warm.
        """

    def slope(
        self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> object:
        """grad G(x); None where a phi of one's own is not finite."""

    def curvature(
        self,
        x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ridge: float,
    ) -> object:
        """Hess G(x) + ridge."""

    def value(
        self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> float:
        """
        G(x), without a user's own losses, and without the y^2/2 of squared ones.
        """

    def observe(
        self,
        x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        phi: Phi,
        z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        y: float,
    ) -> float:
        """Add a loss, and its value at x to the own loss."""

    def absorb(
        self,
        phi: Phi,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None:
        """Add losses, and nothing else."""

    def perturb(self) -> object:
        """The noise of the next round."""

    def begin(self) -> None:
        """The next round at its scale, without a draw."""

    def moved(
        self,
        x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ridge: float,
        left: float,
    ) -> None:
        """A move that was found elsewhere, and its residual."""

    def farther(self, by: float) -> None:
        """Moves were farther from the argmins."""

    def draw(self, kind: NoiseKind) -> object:
        """A standard draw of noise from the run's stream."""

    def mark(self) -> None:
        """Remember the run."""

    def back(self) -> None:
        """The run as it was remembered."""

    def fields(self) -> dict:
        """Everything, by name."""

    def restore(self, fields: dict) -> None: ...
    @property
    def round(self) -> int: ...
    @property
    def own(self) -> float:
        """The own loss."""

    @property
    def scale(self) -> float: ...
    @property
    def ridge(self) -> float: ...
    @property
    def last(self) -> float:
        """The last move's largest distance from the argmin."""

    @property
    def distance(self) -> float:
        """The sum of such distances."""

    @property
    def farthest(self) -> float:
        """The largest of them."""

    @property
    def passes(self) -> int:
        """Gradients the solver took."""

    @property
    def refreshes(self) -> int:
        """Hessians the solver made."""

    @property
    def curved(self) -> int:
        """How many losses were not linear."""

    @property
    def move(self) -> object:
        """The last move."""

    @property
    def linear(self) -> object:
        """The sum of the linear losses."""

    @property
    def quadratic(self) -> object: ...
    @property
    def words(self) -> object:
        """The four words of its stream."""

    @words.setter
    def words(
        self, arg: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)], /
    ) -> None: ...

def play_linear(
    leaders: list,
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    marks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    own: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None:
    """
    Leaders who have seen linear losses only, through more of them; own losses after the rounds of `marks`.
    """

def noise_draws(
    kind: NoiseKind,
    words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    rows: int,
    d: int,
) -> object:
    """Standard draws of noise, a row each; the words move on."""

def normals(
    words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")], count: int
) -> object:
    """The next normals of a stream; its words move on."""
