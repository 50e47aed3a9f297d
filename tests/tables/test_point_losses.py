"""Losses of point forecasts: the engine against the definitions, and names."""

from __future__ import annotations

import json

import click
import numpy as np
import pytest
from click.testing import CliRunner
from forecasts import table

import hannan as hn
from hannan.cli.combine import command
from hannan.tables.combine.losses import Absolute, Huber, Log, Pinball, Squared, losses_of, point_loss


@pytest.mark.parametrize("loss", [Absolute(), Squared(), Pinball(0.3), Huber(0.3), Log()])
def test_losses_of_the_engine_equal_the_definitions(loss):
    from hannan._engine import oracle_pass, prices

    forecasts, targets = table(50)
    np.testing.assert_allclose(
        prices(loss.price(), forecasts, targets), losses_of(loss, forecasts, targets), rtol=1e-14
    )
    q = np.full(4, 0.25)
    value, slope = oracle_pass(loss.price(), forecasts, targets, q)
    mix = forecasts @ q
    assert value == pytest.approx(loss.value(mix, targets).sum())
    np.testing.assert_allclose(slope, loss.slope(mix, targets) @ forecasts, rtol=1e-12)
    # The slope is the derivative.
    h = 1e-7
    for y in (0.0, 1.0):
        for f in (0.2, 0.7):
            assert loss.slope(f, y) == pytest.approx((loss.value(f + h, y) - loss.value(f - h, y)) / (2 * h), rel=1e-5)


def test_losses_by_name():
    assert point_loss("pinball:0.25").name == "pinball:0.25"
    for bad in ("", "hinge", "pinball", "pinball:2", "pinball:x", "huber", "huber:0", "huber:x", "absolute:1", 3, None):
        with pytest.raises(ValueError):
            point_loss(bad)
    with pytest.raises(ValueError, match="cap"):
        point_loss("absolute", -1.0)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("MAE", "absolute"), ("mae", "absolute"), ("L1", "absolute"), ("MSE", "squared"), ("RMSE", "squared"),
     (" rmse ", "squared"), ("quantile:0.9", "pinball:0.9"), ("Log-Loss", "log")],
)  # fmt: skip
def test_usual_names_of_losses_are_synonyms(spelling, name, tmp_path):
    rng = np.random.default_rng(2)
    y = (rng.random(40) < 0.5) * 1.0
    columns = {"a": rng.uniform(0.1, 0.9, 40), "b": rng.uniform(0.1, 0.9, 40), "y": y}
    told, wanted = (hn.combine(columns, "y", loss) for loss in (spelling, name))
    assert told.summary.loss == wanted.summary.loss == name
    assert (told.forecast == wanted.forecast).all()
    assert hn.Combiner(["a", "b"], spelling).loss == hn.Combiner(["a", "b"], name).loss
    rows = "".join(f"{a!r},{b!r},{y}\n" for a, b, y in zip(*(v.tolist() for v in columns.values()), strict=True))
    (tmp_path / "f.csv").write_text("a,b,y\n" + rows)
    said = CliRunner().invoke(command, [str(tmp_path / "f.csv"), "--target", "y", "--loss", spelling, "--json"])
    assert json.loads(said.stdout)["loss"] == name
    assert "RMSE" in command.get_help(click.Context(command))


def test_mae_finds_quantiles_as_absolute_does():
    y = np.arange(30.0)
    columns = {"a-lo-80": y - 1.0, "a-hi-80": y + 1.0, "b-lo-80": y - 2.0, "b-hi-80": y + 2.0, "y": y}
    assert hn.combine(columns, "y", "MAE").levels == hn.combine(columns, "y", "absolute").levels == (0.1, 0.9)
