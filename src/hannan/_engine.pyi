# Written by engine/tools/stubs.py.
from typing import Any
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

def each(function: Function, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], by_fours: bool = True) -> Any: ...

def power(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], a: float) -> Any: ...

def uniforms(words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], count: int) -> Any: ...

def log_evidence(R: float, V: float) -> float: ...

def least_mean(m: float, room: float) -> float: ...

def instruction_set() -> str: ...

def use_instruction_set(name: str) -> bool: ...

class Setting(enum.Enum):
    experts = 0

    bandit = 1

    expert_bandit = 2

class Smoothing(enum.Enum):
    entropy = 0

    tsallis = 1

    log_barrier = 2

    exponential = 3

    laplace = 4

    table = 5

    foreign = 6

    frechet = 7

    gamma = 8

    gaussian = 9

    pareto = 10

    weibull = 11

    adahedge = 12

    tsallis_shannon = 13

    fixed_share = 14

    lb_inf = 15

    dropout = 16

    random_walk = 17

    squint = 18

    ada_normal_hedge = 19

    ml_poly = 20

    epsilon_greedy = 21

    explore_then_commit = 22

    ucb1 = 23

    moss = 24

    kl_ucb = 25

    thompson_beta = 26

    thompson_gaussian = 27

class Estimator(enum.Enum):
    importance_weighted = 0

    geometric = 1

    conditional = 2

    reduced_variance = 3

    implicit = 4

class Setup:
    def __init__(self, *, setting: Setting, n: int, actions: int, smoothing: Smoothing, parameters: Sequence[float], schedule: tuple[float, float, float, float], estimator: Estimator, estimator_parameter: float, low: float, high: float, gains: bool, clip: float, kappa: float, rate: float, gamma: float, log_prior: Sequence[float], law: Any | None, table: Any | None) -> None: ...

    @property
    def n(self) -> int: ...

    @property
    def actions(self) -> int: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

class LawTable:
    def __init__(self, *, one_sided: bool, has_mean: bool, centre: float, spread: float, first: float, step: float, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def leaders(self, L: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float) -> tuple[Any, float, float, bool]: ...

def perturbed_leaders(law: Smoothing, parameters: Sequence[float], L: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float) -> tuple[Any, float, bool]: ...

def perturbed_nodes(law: Smoothing, parameters: Sequence[float], L: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, room: int) -> tuple[int, Any, Any]: ...

def perturbed_ratios(law: Smoothing, parameters: Sequence[float], gaps: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], nodes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

def regularized_leaders(L: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, alpha: float) -> tuple[Any, float, bool]: ...

def regularized_value(L: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, alpha: float) -> float: ...

class Book:
    def __init__(self, id: Any, move_type: Any) -> None: ...

    @property
    def id(self) -> Any: ...

    @id.setter
    def id(self, arg: Any, /) -> None: ...

    @property
    def round(self) -> int: ...

    @property
    def _forgotten(self) -> int: ...

    @property
    def _largest_delay(self) -> int: ...

    @property
    def _settled(self) -> int: ...

    @property
    def _open_count(self) -> int: ...

    @property
    def open_moves(self) -> Any: ...

    def _issue(self, action: Any, number: float, kept: Any | None) -> Any: ...

    def _open_move(self, round: int) -> Any: ...

    def _kept(self, round: int) -> Any: ...

    def _close(self, round: int) -> None: ...

    def _forget(self, round: int) -> None: ...

    def _resume_book(self, drawn: int, forgotten: int, largest_delay: int, open: list[Any]) -> None: ...

    def _count_settled(self, more: int) -> None: ...

class Player(Book):
    def __init__(self, setup: Any, words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], noise: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], id: Any, move_type: Any) -> None: ...

    def _act_expert(self, awake: Any = None) -> Any: ...

    def _act_arm(self, awake: Any = None) -> Any: ...

    def _observe_row(self, move: Any, loss: Any) -> None: ...

    def _observe_arm(self, move: Any, loss: Any = None, *, reward: Any = None) -> None: ...

    def _observe_on_advice(self, move: Any, loss: Any = None, *, reward: Any = None) -> None: ...

    def _act_on_advice(self, advice: Any) -> Any: ...

    def _act_among(self, awake: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], mask: Any) -> Any: ...

    def _settle_row(self, round: int, losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int: ...

    def _settle_arm(self, round: int, loss: float) -> bool: ...

    def _settle_on_advice(self, round: int, loss: float) -> bool: ...

    def _settle_among(self, round: int, awake: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: float) -> bool: ...

    def _distribution(self, awake: Any | None) -> Any: ...

    def _is_plain(self, round: int) -> bool: ...

    def _put(self, losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def _saved(self) -> dict[Any, Any]: ...

    def _restore(self, fields: dict[Any, Any]) -> None: ...

    @property
    def _words(self) -> Any: ...

    def _set_words(self, arg0: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> None: ...

    @property
    def _losses(self) -> Any: ...

    def _settle_untold(self, losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], distribution: Any | None, delay: int) -> None: ...

    @property
    def _adahedge(self) -> dict[Any, Any]: ...

    @property
    def _memory(self) -> Any: ...

    @property
    def _own(self) -> float: ...

    @property
    def _scale(self) -> float: ...

    @property
    def _total(self) -> float: ...

    @property
    def _value(self) -> float: ...

    @property
    def _start(self) -> float: ...

    @property
    def _drift(self) -> float: ...

    @property
    def _change(self) -> float: ...

    @property
    def _level(self) -> float: ...

    @property
    def _probability(self) -> float: ...

def charge_sleepers(p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], awake: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

class Refusal(enum.Enum):
    none = 0

    unknown = 1

    never_drawn = 2

    closed = 3

    twice = 4

    other_fleet = 5

    other_move = 6

    bad_loss = 7

class Photo:
    @property
    def learners(self) -> int: ...

    @property
    def open(self) -> int: ...

    def columns(self) -> dict[Any, Any]: ...

    def origins(self) -> Any: ...

    def body(self, origins: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bytes: ...

class Fleet:
    def __init__(self, setup: Any, sleeps: bool, prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def _set_seed(self, pool: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], constant: int) -> None: ...

    def _act_on_keys(self, keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], awake: Any | None) -> Any: ...

    def _act_on_numbers(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], awake: Any | None) -> Any: ...

    def _settle(self, tickets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sealed: bool, losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], actions: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], origin: int) -> tuple[Refusal, int]: ...

    def _forget(self, tickets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sealed: bool, actions: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], origin: int) -> tuple[Refusal, int]: ...

    def _find(self, keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

    def _touch(self, keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

    def _touch_words(self, words: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Any: ...

    def _reseed(self) -> None: ...

    def _reseed_words(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def _keys(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

    def _numbers(self) -> Any: ...

    def _counts(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict[Any, Any]: ...

    def _fields(self, number: int) -> dict[Any, Any]: ...

    def _open_of(self, number: int) -> dict[Any, Any]: ...

    @property
    def _salt(self) -> int: ...

    @_salt.setter
    def _salt(self, arg: int, /) -> None: ...

    def _columns(self) -> tuple[Any, ...]: ...

    def _photo(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Photo: ...

    def _put(self, columns: dict[Any, Any], keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], keyed: bool, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

    def _retire(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], keyed: bool) -> None: ...

    def _born_up_to(self, number: int) -> None: ...

    @property
    def _born(self) -> int: ...

    @property
    def _origins(self) -> int: ...

    @_origins.setter
    def _origins(self, arg: int, /) -> None: ...

    @property
    def _origin(self) -> int: ...

    @_origin.setter
    def _origin(self, arg: int, /) -> None: ...

    @property
    def _open_count(self) -> int: ...

    def __len__(self) -> int: ...

    @property
    def _bytes(self) -> dict[Any, Any]: ...

def replay_journal(fleet: Any, events: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], awake: Any | None) -> int: ...

def open_decisions(fleet: Any, tickets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], arms: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

def still_open(fleet: Any, tickets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

def draw_one(fleet: Any, number: int, awake: Any | None) -> tuple[Any, ...]: ...

def settle_one(fleet: Any, ticket: int, arm: int, probability: float, value: float) -> int: ...

def next_weights(fleet: Any, number: int, awake: Any | None) -> Any: ...

class Signer:
    def __init__(self, secret: bytes) -> None: ...

    def ticket(self, head: bytes, arm: int, sequence: int, round: int, probability: float, key: bytes) -> Any: ...

    def tickets(self, head: bytes, arms: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, rounds: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Any) -> list[Any]: ...

    def signs(self, raw: bytes) -> bool: ...

def ticket_bytes(text: Any | None) -> Any: ...

def blake2b(data: bytes, key: bytes, size: int) -> bytes: ...

class Runs:
    def __init__(self, setup: Any, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], noise: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

    def bandit(self, first: int, last: int, losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], per_run: int, per_round: int, coins: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], rounds: int, ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], own: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], counts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], moves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], advice: Any | None = None) -> int: ...

    def experts(self, which: int, losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: int, streams: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], first: int, last: int, totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], rounds: int, ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], own: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], best: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], counts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], moves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], fictitious: bool) -> int: ...

    def own(self) -> Any: ...

    def least(self) -> Any: ...

    def largest_span(self) -> float: ...

def survey(losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: int, rounds: int, n: int, low: float, high: float, sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], most: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> int: ...

def expert_losses(losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: int, stride: int, advice: Annotated[NDArray[Any], dict(shape=(None,), order='C', device='cpu', writable=False)], n: int, actions: int, rounds: int, sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], most: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def toss(coins: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], stride: int, rounds: int, n: int) -> Any: ...

class PointLoss(enum.Enum):
    absolute = 0

    squared = 1

    pinball = 2

    huber = 3

    log = 4

class Trouble(enum.Enum):
    none = 0

    asleep = 1

    outside = 2

    infinite = 3

    failed = 4

    extreme = 5

class Price:
    def __init__(self, kind: PointLoss, parameter: float, cap: float) -> None: ...

class Tally:
    def __init__(self, n: int) -> None: ...

    @property
    def mixture(self) -> float: ...

    @property
    def expected(self) -> float: ...

    @property
    def settled(self) -> int: ...

    @property
    def losses(self) -> Any: ...

    @property
    def beside(self) -> Any: ...

    @property
    def awake(self) -> Any: ...

    def numbers(self) -> Any: ...

    def add(self, losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mixture: float, expected: float) -> None: ...

def combine_rows(player: Any, tally: Tally, price: Price, forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], mixed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], played: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> Any: ...

def combine_events(player: Any, tally: Tally, price: Price, forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], told: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], mixed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], played: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], seen: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], old_forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], old_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], old_mixed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], old_seen: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

def prices(price: Price, forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

def oracle_pass(price: Price, forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Any, ...]: ...

def replay_rows(player: Any, actions: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], propensities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], advice: Any | None, floor: float, coins: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], model: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> Any: ...

class Myga:
    def __init__(self, actions: int, experts: int, thresholds: int, eta: float, gamma: float, step: float) -> None: ...

    def mix(self, advice: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

    def charge(self, advice: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], majority: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], arm: int, estimate: float) -> None: ...

    def restore(self, losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mistrust: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def losses(self) -> Any: ...

    @property
    def mistrust(self) -> Any: ...

class Mixing(enum.Enum):
    two_layers = 0

    rule_b = 1

    adahedge = 2

    adahedge_slopes = 3

    ml_poly = 4

    boa = 5

    squint = 6

    ada_normal_hedge = 7

    fixed_share = 8

    mean = 9

    median = 10

class Mixer:
    def __init__(self, kind: Mixing, n: int, price: Price, low: float, high: float, prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def answer(self, row: int, forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None = None) -> Any: ...

    def settle(self, row: int, target: float) -> tuple[Any, ...]: ...

    def forget(self, row: int) -> bool: ...

    def waiting(self, row: int) -> Any: ...

    def rows(self, forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mixed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None) -> tuple[Any, ...]: ...

    def events(self, forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], told: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, mixed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None) -> tuple[Any, ...]: ...

    def weights(self, forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

    def layer(self, name: str) -> dict[Any, Any]: ...

    def numbers(self) -> Any: ...

    def fields(self) -> dict[Any, Any]: ...

    def restore(self, fields: dict[Any, Any]) -> None: ...

    @property
    def open_rows(self) -> int: ...

    @property
    def answered(self) -> int: ...

    @property
    def settled(self) -> int: ...

    @property
    def mixture(self) -> float: ...

    @property
    def expected(self) -> float: ...

    @property
    def mean_loss(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def member_losses(self) -> Any: ...

    @property
    def slept_b(self) -> Any: ...

    @property
    def slept_adahedge(self) -> Any: ...

    @property
    def losses(self) -> Any: ...

    @property
    def beside(self) -> Any: ...

    @property
    def awake(self) -> Any: ...

def panel(kind: Mixing, price: Price, low: float, high: float, prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, forecasts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], known: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], mixed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, final_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], losses: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], beside: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], awake: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], first: int, last: int) -> tuple[Any, ...]: ...

class SetKind(enum.Enum):
    ball = 0

    box = 1

    simplex = 2

    other = 3

class Phi(enum.Enum):
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
    def __init__(self, kind: SetKind, center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], radius: float, low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class PointRules:
    def __init__(self, *, noise: NoiseKind, fresh: bool, c: float, a: float, b: float, d: float, ridge: float, loss_ridge: float, scale_ridge: float, accuracy: float) -> None: ...

    def fields(self) -> dict[Any, Any]: ...

    @property
    def fresh(self) -> bool: ...

    @property
    def noise(self) -> NoiseKind: ...

    @property
    def accuracy(self) -> float: ...

    def ridge_of(self, curved: int, scale: float) -> float: ...

class Leader:
    def __init__(self, region: Any, rules: Any | None, words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def prepare(self, phi: Phi, parameter: float, more: int, slopes: Any | None = None) -> None: ...

    def act(self) -> Solved: ...

    def play(self, phi: Phi, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], marks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], own: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], moves: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None) -> Solved: ...

    def minimise(self, noise: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float, tolerance: float, start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], warm: bool = False) -> Any: ...

    def slope(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Any: ...

    def curvature(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float) -> Any: ...

    def value(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> float: ...

    def observe(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], phi: Phi, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], y: float) -> float: ...

    def absorb(self, phi: Phi, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def perturb(self) -> Any: ...

    def begin(self) -> None: ...

    def moved(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float, left: float) -> None: ...

    def farther(self, by: float) -> None: ...

    def draw(self, kind: NoiseKind) -> Any: ...

    def mark(self) -> None: ...

    def back(self) -> None: ...

    def fields(self) -> dict[Any, Any]: ...

    def restore(self, fields: dict[Any, Any]) -> None: ...

    @property
    def round(self) -> int: ...

    @property
    def own(self) -> float: ...

    @property
    def scale(self) -> float: ...

    @property
    def ridge(self) -> float: ...

    @property
    def last(self) -> float: ...

    @property
    def distance(self) -> float: ...

    @property
    def farthest(self) -> float: ...

    @property
    def passes(self) -> int: ...

    @property
    def refreshes(self) -> int: ...

    @property
    def curved(self) -> int: ...

    @property
    def move(self) -> Any: ...

    @property
    def linear(self) -> Any: ...

    @property
    def quadratic(self) -> Any: ...

    @property
    def words(self) -> Any: ...

    @words.setter
    def words(self, arg: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> None: ...

def play_linear(leaders: list[Any], rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], marks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], own: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def noise_draws(kind: NoiseKind, words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], rows: int, d: int) -> Any: ...

def normals(words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], count: int) -> Any: ...
