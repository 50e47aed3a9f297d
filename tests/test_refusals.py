"""Bad input is refused at the door: a ValueError with the rule first, then the value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan import validation

nan, inf = math.nan, math.inf
ftpl, ftrl = hn.FTPL(hn.Exponential(), 1.0), hn.FTRL(hn.Tsallis(0.5), 1.0)


def refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


LOSSES: list[tuple[Any, str]] = [
    ([0.0, nan, 1.0], "losses must be finite; got nan at index 1"),
    ([0.0, inf], "losses must be finite; got inf at index 1"),
    ([-inf, 0.0], "losses must be finite; got -inf at index 0"),
    ([[0.0, 1.0], [2.0, nan]], "losses must be finite; got nan at index (1, 1)"),
    ([], "losses must be a non-empty vector; got shape (0,)"),
    (np.empty((3, 0)), "losses must be a non-empty vector; got shape (3, 0)"),
    (1.0, "losses must be a non-empty vector; got shape ()"),
    (["0.1", "b"], "losses must be real numbers; got"),
    ("abc", "losses must be real numbers; got"),
    ([0.0, None], "losses must be real numbers; got object values such as"),
    ([1j, 2.0], "losses must be real numbers; got complex128 values such as"),
    ([True, False], "losses must be real numbers; got bool values such as"),
    ([[0.0, 1.0], [2.0]], "losses must be a rectangular array of numbers"),
    ({"a": 1}, "losses must be real numbers; got object values such as"),
]


@pytest.mark.parametrize(("losses", "message"), LOSSES, ids=lambda x: repr(x)[:30])
@pytest.mark.parametrize("phi", [ftpl, ftrl, hn.FTPL(hn.Gumbel(), 1.0)], ids=lambda phi: repr(phi.smoothing))
def test_losses(phi: hn.Potential, losses: Any, message: str) -> None:
    for method in (phi.value, phi.gradient, phi.hessian, phi.consistency, phi.is_pod):
        refused(lambda method=method: method(losses), message)
    refused(lambda: phi.sample(losses, np.random.default_rng(0)), message)


def test_one_vector_where_one_is_asked_for() -> None:
    L = np.zeros((2, 3))
    for call in (ftpl.consistency, ftpl.is_pod, lambda L: ftrl.sample(L, np.random.default_rng(0))):
        refused(lambda call=call: call(L), "losses must be one vector here; got shape (2, 3)")


@pytest.mark.parametrize("scale", [0.0, -1.0, nan, inf, "2", None, True, np.bool_(True), [1.0, 2.0]], ids=repr)
def test_scale(scale: Any) -> None:
    rule = "scale must be a finite number > 0; got " if isinstance(scale, float) else "scale must be a number; got "
    refused(lambda: hn.FTPL(hn.Exponential(), scale), rule + repr(scale))
    refused(lambda: hn.FTRL(hn.Entropy(), scale), rule + repr(scale))


def test_the_smoothing_of_a_potential() -> None:
    refused(lambda: hn.FTPL(hn.Entropy(), 1.0), "law must be a hannan Law such as Exponential(); got Entropy()")
    refused(lambda: hn.FTPL("exponential", 1.0), "law must be a hannan Law such as Exponential(); got 'exponential'")
    refused(
        lambda: hn.FTRL(hn.Gumbel(), 1.0), "regularizer must be a hannan Regularizer such as Entropy(); got Gumbel()"
    )
    refused(lambda: hn.FTPL(hn.Exponential, 1.0), "law must be a hannan Law such as Exponential(); got <class")
    refused(lambda: hn.FTRL(hn.Exponential(), 1.0), "regularizer must be a hannan Regularizer such as Entropy(); got")


@pytest.mark.parametrize("value", [0.0, -2.0, nan, inf], ids=repr)
def test_parameters_of_laws(value: float) -> None:
    for kind, name in (
        (hn.Frechet, "Frechet alpha"),
        (hn.Pareto, "Pareto alpha"),
        (hn.Gamma, "Gamma shape"),
        (hn.Weibull, "Weibull k"),
    ):
        refused(lambda kind=kind: kind(value), f"{name} must be a finite number > 0; got {value!r}")
        refused(lambda kind=kind: kind("2"), f"{name} must be a number; got '2'")


@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, 1.5, nan, inf], ids=repr)
def test_alpha_of_tsallis(value: float) -> None:
    refused(lambda: hn.Tsallis(value), f"Tsallis alpha must be in (0, 1); got {value!r}")


def test_heavy_tails_are_lawful_until_a_regret_constant_is_asked_for() -> None:
    from hannan.mathematics.stability import range_constant

    for law in (hn.Frechet(1.0), hn.Pareto(0.5)):
        assert hn.FTPL(law, 1.0).gradient([0.0, 1.0]).sum() == pytest.approx(1.0)
        assert law.mean == inf
        refused(
            lambda law=law: range_constant(law, 4),
            f"a regret constant needs a law with a finite mean; got {law!r}, whose mean is infinite",
        )
    refused(
        lambda: range_constant(hn.LogBarrier(), 4),
        "the range of the log-barrier depends on the number of rounds; got rounds=None",
    )


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
    refused(lambda: divergence([1.5, -0.5], good), "p must be non-negative; got -0.5 at index 1")
    refused(lambda: divergence(good, [-1e-12, 1.0 + 1e-12]), "q must be non-negative; got -1e-12 at index 0")
    refused(lambda: divergence([0.5, 0.5 + 1e-8], good), "p must sum to 1 within 1e-09; got a sum of 1.00000001")
    refused(lambda: divergence(good, [[0.5, 0.5], [0.5, 0.4]]), "q must sum to 1 within 1e-09; got a sum of 0.9")
    refused(lambda: divergence([nan, 1.0], good), "p must be finite; got nan at index 0")
    refused(lambda: divergence([], []), "p must be a non-empty vector; got shape (0,)")
    refused(lambda: divergence(["a"], [1.0]), "p must be real numbers; got")
    refused(lambda: divergence(good, [1.0]), "p and q must have the same length; got 2 and 1")
    # Within 1e-9 it is rounding, and taken as it is.
    divergence([0.5, 0.5 + 5e-10], good)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, nan], ids=repr)
def test_delta(delta: float) -> None:
    message = f"delta must be in [0, 1); got {delta!r}"
    refused(lambda: hn.max_divergence([1.0], [1.0], delta), message)
    refused(lambda: ftpl.stability(2, delta=delta), message)
    refused(lambda: hn.audit(ftpl, 2, delta=delta), message)


@pytest.mark.parametrize("gamma", [0.0, -1.0, nan, inf], ids=repr)
def test_gamma(gamma: float) -> None:
    message = f"gamma must be a finite number > 0; got {gamma!r}"
    refused(lambda: hn.tsallis_divergence([1.0], [1.0], gamma), message)
    refused(lambda: hn.tsallis_log(0.5, gamma), message)
    refused(lambda: ftpl.stability(2, gamma=gamma), message)
    refused(lambda: ftpl.consistency([0.0, 1.0], gamma=gamma), message)


def test_other_arguments() -> None:
    refused(lambda: hn.hockey_stick([1.0], [1.0], -0.1), "epsilon must be in [0, inf); got -0.1")
    refused(lambda: hn.tsallis_log([0.5, -0.25], 2.0), "x must be >= 0; got -0.25")
    refused(lambda: hn.tsallis_log(nan, 2.0), "x must be >= 0; got nan")
    refused(lambda: ftpl.stability(2, gamma=2.0, delta=0.1), "gamma and delta do not go together")
    for n in (0, -3, 2.5, "3", None, True, nan):
        refused(lambda n=n: ftpl.stability(n), f"n must be an integer >= 1; got {n!r}")
        refused(lambda n=n: hn.Gaussian().expected_max(n), f"n must be an integer >= 1; got {n!r}")
    assert hn.Exponential().expected_max(np.int64(2)) == hn.Exponential().expected_max(2.0) == 1.5


def test_numbers_of_other_kinds_are_welcome() -> None:
    right = ftpl.gradient([0.0, 1.0])
    for losses in (np.array([0, 1]), np.array([0, 1], dtype=np.uint8), np.float32([0, 1]), (0, 1), [0, 10**0]):
        assert (ftpl.gradient(losses) == right).all()
    assert (ftpl.gradient(np.array([0, 1], dtype=object)) == right).all()
    assert hn.FTPL(hn.Gamma(np.float32(2.0)), np.int64(3)).scale == 3.0


def test_a_refusal_leaves_its_argument_alone() -> None:
    L = np.array([0.0, nan])
    refused(lambda: ftpl.gradient(L), "losses must be finite")
    assert L[0] == 0.0
    assert math.isnan(L[1])


def test_the_checks_themselves() -> None:
    assert validation.real(2, "x") == 2.0
    refused(lambda: validation.real(nan, "x"), "x must be a finite number; got nan")
    assert validation.between(0.0, 0.0, 1.0, "x", "[)") == 0.0
    refused(lambda: validation.between(0.0, 0.0, 1.0, "x", "(]"), "x must be in (0, 1]; got 0.0")
    assert validation.count(3.0, "k", least=2) == 3
    refused(lambda: validation.count(1, "k", least=2), "k must be an integer >= 2; got 1")


def test_a_class_is_no_learner_and_a_huge_number_no_loss() -> None:
    with pytest.raises(ValueError, match="built, not its class; got Bandit"):
        hn.play(hn.Bandit, np.zeros((3, 2)))
    player = hn.AdaHedge(3).start(0)
    with pytest.raises(ValueError, match="losses must be finite; got an integer too large for a float"):
        player.observe(player.act(), [10**400, 0, 0])


HIDDEN = np.ma.array([0.25, 0.75], mask=[False, True])
TABLE = np.ma.array(np.full((4, 2), 0.5), mask=[[False, False], [True, False], [False, False], [False, False]])


def test_masked_entries_are_refused() -> None:
    """NumPy reads what lies under a mask; nothing here does."""
    rule, at = "must have no masked entries; got one", " at index (1, 0)"
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
        with pytest.raises(ValueError, match=rule):
            call()
    player = experts.start(0)
    refused(lambda: player.observe(player.act(), HIDDEN), "losses " + rule + " at index 1")
    refused(lambda: hn.play(experts, TABLE), "losses " + rule + at)
    refused(lambda: validation.real(np.ma.masked, "scale"), "scale " + rule)
    arm = bandit.start(0)
    refused(lambda: arm.observe(arm.act(), np.ma.array(0.5, mask=True)), "loss " + rule)
    # A mask that hides nothing is no reason to refuse; nor is one over a sleeper, whose loss is not read.
    open_ = np.ma.array(plain, mask=False)
    assert (hn.play(experts, open_).regret == hn.play(experts, plain).regret).all()
    asleep = experts.start(0)
    asleep.observe(asleep.act(awake=[True, False]), HIDDEN)
    over_the_awake = asleep.act(awake=[False, True])
    refused(lambda: asleep.observe(over_the_awake, HIDDEN), "losses " + rule + " at index 1")


@pytest.mark.parametrize(
    "units", [(0.0, 1e-310), (0.0, 5e-324), (0.0, 1e308), (-1e308, 1.0), (-1e308, 1e308)], ids=repr
)
def test_ranges_that_floats_cannot_play(units: tuple[float, float]) -> None:
    """They once played NaN or infinities in silence."""
    for make in (
        lambda: hn.Experts(2, loss_range=units),
        lambda: hn.Bandit(2, loss_range=units),
        lambda: hn.ExpertBandit(2, 2, loss_range=units),
        lambda: hn.AdaHedge(2, loss_range=units),
        lambda: hn.Squint(2, loss_range=units),
        lambda: hn.RandomWalk(2, loss_range=units),
    ):
        with pytest.raises(ValueError, match=r"loss_range.*1e\+\d+.*1e-290"):
            make()


@pytest.mark.parametrize("units", [(0.0, 1e-290), (0.0, 1e290), (-1e290, 1e290)], ids=repr)
@pytest.mark.parametrize("gains", [False, True])
def test_ranges_that_floats_just_can_play(units: tuple[float, float], gains: bool) -> None:
    low, high = units
    losses = low + (high - low) * np.random.default_rng(0).integers(0, 2, (64, 2))
    for learner in (hn.Experts(2, loss_range=units, gains=gains), hn.Bandit(2, loss_range=units, gains=gains)):
        record = hn.play(learner, losses, runs=3)
        assert np.isfinite(record.regret).all()
        assert math.isfinite(float(np.max(record.best_loss)))
        assert record.bound is not None
        assert math.isfinite(record.bound.value)
        assert (record.regret / (high - low)).max() < 64


def test_a_strangers_range_is_held_to_the_same_rule() -> None:
    class Stranger:
        n, loss_range = 2, (0.0, 1e-310)

        def start(self, seed: int) -> Any:
            raise AssertionError

    with pytest.raises(ValueError, match=r"loss_range.*1e-290"):
        hn.play(Stranger(), np.zeros((3, 2)))


FORECASTS = {"anna": [1.0, 2.0], "ben": [2.0, 1.0], "demand": [1.0, 1.0]}
COINS = {"coins": {"means": [0.5, 0.4]}}
#: Call -> (the unknown name, the name that was meant).
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
    with pytest.raises(ValueError, match=rf"{got}.*\. Did you mean {close}\?"):
        call()


def test_suggestions_are_names_that_are_known_and_close() -> None:
    assert validation.meant("squred", ["absolute", "squared"]) == ". Did you mean 'squared'?"
    for word in ("crps", "", 7, None, "s" * 1000, "squared"):
        assert validation.meant(word, ["absolute", "squared"]) == ""
    with pytest.raises(ValueError, match=r"got 'crps'$"):
        hn.combine(FORECASTS, "demand", "crps")
    with pytest.raises(ValueError, match=r"got 'pinball'\. Give its number, as in 'pinball:0\.5'"):
        hn.combine(FORECASTS, "demand", "pinball")
