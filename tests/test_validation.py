"""Invalid arguments raise ValueError with the parameter, the value and its place, before any state changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rejections import contains, rejected

import hannan as hn
from hannan import validation

nan, inf = math.nan, math.inf
ftpl, ftrl = hn.FTPL(hn.Exponential(), 1.0), hn.FTRL(hn.Tsallis(0.5), 1.0)


#: (losses, words of the error message)
LOSSES: list[tuple[Any, tuple[object, ...]]] = [
    ([0.0, nan, 1.0], ("nan", 1)),
    ([0.0, inf], ("inf", 1)),
    ([-inf, 0.0], ("-inf", 0)),
    ([[0.0, 1.0], [2.0, nan]], ("nan", "(1, 1)")),
    ([], ("(0,)",)),
    (np.empty((3, 0)), ("(3, 0)",)),
    (1.0, ("()",)),
    (["0.1", "b"], ("real numbers", "'0.1'")),
    ("abc", ("real numbers", "'abc'")),
    ([0.0, None], ("real numbers", "object")),
    ([1j, 2.0], ("real numbers", "complex128")),
    ([True, False], ("real numbers", "bool")),
    ([[0.0, 1.0], [2.0]], ("rectangular",)),
    ({"a": 1}, ("real numbers", "object")),
]


@pytest.mark.parametrize(("losses", "words"), LOSSES, ids=lambda x: repr(x)[:30])
@pytest.mark.parametrize("phi", [ftpl, ftrl, hn.FTPL(hn.Gumbel(), 1.0)], ids=lambda phi: repr(phi.smoothing))
def test_losses(phi: hn.Potential, losses: Any, words: tuple[object, ...]) -> None:
    for method in (phi.value, phi.gradient, phi.hessian, phi.consistency, phi.is_pod):
        rejected(lambda method=method: method(losses), "losses", *words)
    rejected(lambda: phi.sample(losses, np.random.default_rng(0)), "losses", *words)


def test_a_matrix_is_rejected_where_one_vector_is_required() -> None:
    L = np.zeros((2, 3))
    for call in (ftpl.consistency, ftpl.is_pod, lambda L: ftrl.sample(L, np.random.default_rng(0))):
        rejected(lambda call=call: call(L), "losses", "(2, 3)")


@pytest.mark.parametrize("scale", [0.0, -1.0, nan, inf, "2", None, True, np.bool_(True), [1.0, 2.0]], ids=repr)
def test_scale(scale: Any) -> None:
    rejected(lambda: hn.FTPL(hn.Exponential(), scale), "scale", repr(scale))
    rejected(lambda: hn.FTRL(hn.Entropy(), scale), "scale", repr(scale))


def test_smoothing_of_a_potential() -> None:
    rejected(lambda: hn.FTPL(hn.Entropy(), 1.0), "law", "Law", "Entropy()")
    rejected(lambda: hn.FTPL("exponential", 1.0), "law", "Law", "'exponential'")
    rejected(lambda: hn.FTRL(hn.Gumbel(), 1.0), "regularizer", "Regularizer", "Gumbel()")
    rejected(lambda: hn.FTPL(hn.Exponential, 1.0), "law", "Law", "Exponential")
    rejected(lambda: hn.FTRL(hn.Exponential(), 1.0), "regularizer", "Regularizer", "Exponential()")


@pytest.mark.parametrize("value", [0.0, -2.0, nan, inf], ids=repr)
def test_parameters_of_laws(value: float) -> None:
    for kind, name in ((hn.Frechet, "alpha"), (hn.Pareto, "alpha"), (hn.Gamma, "shape"), (hn.Weibull, "k")):
        rejected(lambda kind=kind: kind(value), kind.__name__, name, repr(value))
        rejected(lambda kind=kind: kind("2"), kind.__name__, name, "'2'")


@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, 1.5, nan, inf], ids=repr)
def test_alpha_of_tsallis(value: float) -> None:
    rejected(lambda: hn.Tsallis(value), "Tsallis", "alpha", "(0, 1)", repr(value))


def test_heavy_tailed_laws_play_but_have_no_regret_constant() -> None:

    for law in (hn.Frechet(1.0), hn.Pareto(0.5)):
        assert hn.FTPL(law, 1.0).gradient([0.0, 1.0]).sum() == pytest.approx(1.0)
        assert law.mean == inf
        rejected(lambda law=law: law.range_constant(4), "mean", repr(law))
    rejected(lambda: hn.LogBarrier().range_constant(4), "rounds", "None")


DIVERGENCES: list[Callable[[Any, Any], Any]] = [
    lambda p, q: hn.max_divergence(p, q),
    lambda p, q: hn.max_divergence(p, q, 0.1),
    lambda p, q: hn.tsallis_divergence(p, q, 0.5),
    lambda p, q: hn.tsallis_divergence(p, q, 2.0),
    lambda p, q: hn.hockey_stick(p, q, 0.5),
]


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_distributions(divergence: Callable[[Any, Any], Any]) -> None:
    good = [0.5, 0.5]
    rejected(lambda: divergence([1.5, -0.5], good), "p", "-0.5", 1)
    rejected(lambda: divergence(good, [-1e-12, 1.0 + 1e-12]), "q", "-1e-12", 0)
    rejected(lambda: divergence([0.5, 0.5 + 1e-8], good), "p", "sum", "1.00000001", "1e-09")
    rejected(lambda: divergence(good, [[0.5, 0.5], [0.5, 0.4]]), "q", "sum", "0.9", "1e-09")
    rejected(lambda: divergence([nan, 1.0], good), "p", "nan", 0)
    rejected(lambda: divergence([], []), "p", "(0,)")
    rejected(lambda: divergence(["a"], [1.0]), "p", "'a'")
    rejected(lambda: divergence(good, [1.0]), "p", "q", "length", 2, 1)
    # A sum within 1e-9 of 1 is a rounding error.
    divergence([0.5, 0.5 + 5e-10], good)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, nan], ids=repr)
def test_delta(delta: float) -> None:
    words = ("delta", "[0, 1)", repr(delta))
    rejected(lambda: hn.max_divergence([1.0], [1.0], delta), *words)
    rejected(lambda: ftpl.stability(2, delta=delta), *words)
    rejected(lambda: hn.audit(ftpl, 2, delta=delta), *words)


@pytest.mark.parametrize("gamma", [0.0, -1.0, nan, inf], ids=repr)
def test_gamma(gamma: float) -> None:
    words = ("gamma", repr(gamma))
    rejected(lambda: hn.tsallis_divergence([1.0], [1.0], gamma), *words)
    rejected(lambda: hn.tsallis_log(0.5, gamma), *words)
    rejected(lambda: ftpl.stability(2, gamma=gamma), *words)
    rejected(lambda: ftpl.consistency([0.0, 1.0], gamma=gamma), *words)


def test_other_arguments() -> None:
    rejected(lambda: hn.hockey_stick([1.0], [1.0], -0.1), "epsilon", "[0, inf)", "-0.1")
    rejected(lambda: hn.tsallis_log([0.5, -0.25], 2.0), "x", ">= 0", "-0.25")
    rejected(lambda: hn.tsallis_log(nan, 2.0), "x", ">= 0", "nan")
    rejected(lambda: ftpl.stability(2, gamma=2.0, delta=0.1), "gamma", "delta")
    for n in (0, -3, 2.5, "3", None, True, nan):
        rejected(lambda n=n: ftpl.stability(n), "n", ">= 1", repr(n))
        rejected(lambda n=n: hn.Gaussian().expected_max(n), "n", ">= 1", repr(n))
    assert hn.Exponential().expected_max(np.int64(2)) == hn.Exponential().expected_max(2.0) == 1.5


def test_other_types_of_numbers_are_accepted() -> None:
    right = ftpl.gradient([0.0, 1.0])
    for losses in (np.array([0, 1]), np.array([0, 1], dtype=np.uint8), np.float32([0, 1]), (0, 1), [0, 10**0]):
        assert (ftpl.gradient(losses) == right).all()
    assert (ftpl.gradient(np.array([0, 1], dtype=object)) == right).all()
    assert hn.FTPL(hn.Gamma(np.float32(2.0)), np.int64(3)).scale == 3.0


def test_a_rejected_argument_is_unchanged() -> None:
    L = np.array([0.0, nan])
    rejected(lambda: ftpl.gradient(L), "losses", "nan", 1)
    assert L[0] == 0.0
    assert math.isnan(L[1])


def test_functions_of_validation() -> None:
    assert validation.real(2, "x") == 2.0
    rejected(lambda: validation.real(nan, "x"), "x", "nan")
    assert validation.between(0.0, 0.0, 1.0, "x", "[)") == 0.0
    rejected(lambda: validation.between(0.0, 0.0, 1.0, "x", "(]"), "x", "(0, 1]", "0.0")
    assert validation.count(3.0, "k", least=2) == 3
    rejected(lambda: validation.count(1, "k", least=2), "k", ">= 2", 1)


def test_control_of_rejected() -> None:
    """Words match as a whole; a call that raises nothing, or an error of another type, fails."""
    message = "loss must be in [0, 1]; got 10.5 at index 12, key 'red'"
    for word in ("loss", "[0, 1]", "10.5", "12", "'red'"):
        assert contains(message, word)
    for word in ("losses", "los", "0.5", "10", "1.5", "2", "'re'", "-12"):
        assert not contains(message, word)
    assert not contains("got -12", "12.0")

    def wrong() -> None:
        raise ValueError(message)

    assert rejected(wrong, "loss", 10.5, 12) == message
    with pytest.raises(AssertionError, match=r"losses.*10\.5"):
        rejected(wrong, "losses", 10.5)
    with pytest.raises(pytest.fail.Exception):
        rejected(lambda: None, "loss")
    with pytest.raises(ValueError, match="loss"):
        rejected(wrong, "loss", kind=KeyError)


def test_a_class_is_rejected_as_learner_and_a_huge_integer_as_loss() -> None:
    rejected(lambda: hn.play(hn.Bandit, np.zeros((3, 2))), "class", "Bandit")
    player = hn.AdaHedge(3).start(0)
    rejected(lambda: player.observe(player.act(), [10**400, 0, 0]), "losses", "finite")


HIDDEN = np.ma.array([0.25, 0.75], mask=[False, True])
TABLE = np.ma.array(np.full((4, 2), 0.5), mask=[[False, False], [True, False], [False, False], [False, False]])


def test_masked_entries_are_rejected() -> None:
    """NumPy functions read the data under a mask; the package raises an error instead."""
    experts, bandit, advised = hn.Experts(2), hn.Bandit(2), hn.ExpertBandit(2, 2)
    plain = np.full((4, 2), 0.5)
    for call in (
        lambda: ftpl.gradient(HIDDEN),
        lambda: ftpl.gradient([HIDDEN, HIDDEN]),
        lambda: ftpl.gradient([0.25, np.ma.masked]),
        lambda: validation.losses(HIDDEN),
        lambda: hn.play(experts, TABLE),
        lambda: hn.play(hn.AdaHedge(2), TABLE),
        lambda: hn.play(bandit, iter([TABLE])),
        lambda: hn.play(bandit, [plain[0], TABLE[1]]),
        lambda: hn.play(advised, plain, advice=np.ma.array(np.zeros((4, 2), int), mask=TABLE.mask)),
        lambda: advised.start(0).act(np.ma.array([0, 1], mask=[True, False])),
        lambda: hn.adversaries.Bernoulli(HIDDEN, rounds=3),
        lambda: hn.Linear(HIDDEN),
        lambda: hn.Logistic(plain, np.ma.array([1, 1, 1, 1], mask=[0, 0, 1, 0])),
        lambda: hn.play(hn.FPL(hn.MSets(2, 1), 1.0), TABLE),
        lambda: hn.combine(TABLE, np.zeros(4)),
        lambda: hn.combine({"a": TABLE[:, 0], "b": TABLE[:, 1]}, np.zeros(4)),
        lambda: hn.combine(plain, TABLE[:, 0]),
        lambda: hn.max_divergence(HIDDEN, [0.25, 0.75]),
        lambda: hn.tsallis_log(HIDDEN, 2.0),
        lambda: experts.start(0).act(awake=np.ma.array([True, True], mask=[True, False])),
    ):
        rejected(call, "masked")
    player = experts.start(0)
    rejected(lambda: player.observe(player.act(), HIDDEN), "losses", "masked", 1)
    rejected(lambda: hn.play(experts, TABLE), "losses", "masked", "(1, 0)")
    rejected(lambda: validation.real(np.ma.masked, "scale"), "scale", "masked")
    arm = bandit.start(0)
    rejected(lambda: arm.observe(arm.act(), np.ma.array(0.5, mask=True)), "loss", "masked")
    # Accepted: a mask without masked entries, and a masked loss of an unavailable arm, which is not read.
    open_ = np.ma.array(plain, mask=False)
    assert (hn.play(experts, open_).regret == hn.play(experts, plain).regret).all()
    player = experts.start(0)
    player.observe(player.act(awake=[True, False]), HIDDEN)
    move = player.act(awake=[False, True])
    rejected(lambda: player.observe(move, HIDDEN), "losses", "masked", 1)


@pytest.mark.parametrize(
    "units", [(0.0, 1e-310), (0.0, 5e-324), (0.0, 1e308), (-1e308, 1.0), (-1e308, 1e308)], ids=repr
)
def test_loss_ranges_beyond_the_limits_of_floats_are_rejected(units: tuple[float, float]) -> None:
    """With such ranges the weights would become NaN or infinite."""
    for make in (
        lambda: hn.Experts(2, loss_range=units),
        lambda: hn.Bandit(2, loss_range=units),
        lambda: hn.ExpertBandit(2, 2, loss_range=units),
        lambda: hn.AdaHedge(2, loss_range=units),
        lambda: hn.Squint(2, loss_range=units),
        lambda: hn.RandomWalk(2, loss_range=units),
    ):
        rejected(make, "loss_range", "1e-290", repr(units))


@pytest.mark.parametrize("units", [(0.0, 1e-290), (0.0, 1e290), (-1e290, 1e290)], ids=repr)
@pytest.mark.parametrize("gains", [False, True])
def test_extreme_loss_ranges_within_the_limits_play(units: tuple[float, float], gains: bool) -> None:
    low, high = units
    losses = low + (high - low) * np.random.default_rng(0).integers(0, 2, (64, 2))
    for learner in (hn.Experts(2, loss_range=units, gains=gains), hn.Bandit(2, loss_range=units, gains=gains)):
        record = hn.play(learner, losses, runs=3)
        assert np.isfinite(record.regret).all()
        assert math.isfinite(float(np.max(record.best_loss)))
        assert record.bound is not None
        assert math.isfinite(record.bound.value)
        assert (record.regret / (high - low)).max() < 64


def test_loss_range_of_a_user_defined_learner_is_validated() -> None:
    class Own:
        n, loss_range = 2, (0.0, 1e-310)

        def start(self, seed: int) -> Any:
            raise AssertionError

    rejected(lambda: hn.play(Own(), np.zeros((3, 2))), "loss_range", "1e-290")


FORECASTS = {"anna": [1.0, 2.0], "ben": [2.0, 1.0], "demand": [1.0, 1.0]}
COINS = {"coins": {"means": [0.5, 0.4]}}
#: (call, the unknown name, the suggested name)
MISSPELT: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: hn.combine(FORECASTS, "demand", "Absolut"), "'Absolut'", "'absolute'"),
    (lambda: hn.combine(FORECASTS, "demand", "rsme"), "'rsme'", "'rmse'"),
    (lambda: hn.combine(FORECASTS, "demand", learner="two_layer"), "'two_layer'", "'two-layers'"),
    (lambda: hn.combine(FORECASTS, "demand", crossing="sorted"), "'sorted'", "'sort'"),
    (lambda: hn.combine(FORECASTS, "Demand"), "'Demand'", "'demand'"),
    (lambda: hn.combine(FORECASTS, "demand", experts=["ana", "ben"]), "'ana'", "'anna'"),
    (lambda: hn.combine(FORECASTS, "demnd", by="anna"), "'demnd'", "'demand'"),
    (lambda: hn.Combiner(["anna", "ben"], prior={"anna": 0.5, "Ben": 0.5}), "'ben'", "'Ben'"),
    (lambda: hn.compare(["bandt"], COINS, rounds=9), "'bandt'", "'bandit'"),
    (lambda: hn.compare(["bandit:tsalis"], COINS, rounds=9), "'tsalis'", "'tsallis'"),
    (lambda: hn.compare(["bandit:tsallis@anytim"], COINS, rounds=9), "'anytim'", "'anytime'"),
    (lambda: hn.compare(["bandit"], {"x": "driftng"}, rounds=9, n=2), "'driftng'", "'drifting'"),
    (
        lambda: hn.compare(["bandit"], {"x": {"adversary": "switching", "phase": 3}}, rounds=9, n=2),
        "'phase'",
        "'phases'",
    ),
    (lambda: hn.compare(["bandit"], COINS, rounds=9, baseline="bandits"), "'bandits'", "'bandit'"),
    (lambda: hn.sweep({"learner": {}}, "nowhere"), "'learner'", "'learners'"),
]


@pytest.mark.parametrize(("call", "got", "close"), MISSPELT, ids=[got for _, got, _ in MISSPELT])
def test_unknown_names_get_a_suggestion(call: Callable[[], Any], got: str, close: str) -> None:
    rejected(call, got, f"Did you mean {close}?")


def test_only_known_and_close_names_are_suggested() -> None:
    assert validation.meant("squred", ["absolute", "squared"]) == ". Did you mean 'squared'?"
    for word in ("crps", "", 7, None, "s" * 1000, "squared"):
        assert validation.meant(word, ["absolute", "squared"]) == ""
    assert "Did you mean" not in rejected(lambda: hn.combine(FORECASTS, "demand", "crps"), "'crps'")
    rejected(lambda: hn.combine(FORECASTS, "demand", "pinball"), "'pinball'", "'pinball:0.5'")
