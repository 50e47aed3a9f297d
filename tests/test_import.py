"""`import hannan` loads only NumPy, and every public name is imported when it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hannan as hn
from hannan.learners import algorithms

HEAVY = ("scipy", "pandas", "altair", "rich", "click", "sklearn", "polars")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_numpy_and_nothing_heavy() -> None:
    code = f"import sys, hannan; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert run(code) == "[]"


def test_potentials_load_nothing_heavy() -> None:
    """Descriptions and closed formulas need NumPy alone."""
    code = (
        "import sys, hannan as hn; hn.FTPL(hn.Exponential(), 1.0).stability(3); hn.FTRL(hn.Tsallis(0.5), 2.0); "
        "hn.max_divergence([0.5, 0.5], [0.25, 0.75]); hn.Exponential().expected_max(10); "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert run(code) == "[]"


def test_star_import_needs_no_extra() -> None:
    """Control: a missing extra that is used raises an error with the command that installs it."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('sklearn', 'altair', 'networkx', 'gymnasium', 'river'))); "
        "from hannan import *; print(Bandit.__name__); import hannan; "
        "\ntry: hannan.sklearn\nexcept ModuleNotFoundError as error: print(error)"
    )
    name, error = run(code).splitlines()
    assert name == "Bandit"
    assert "hannan.sklearn" in error
    assert "pip install 'scikit-learn>=1.5'" in error


def test_every_public_name_resolves() -> None:
    missing = [name for name in hn.__all__ if not hasattr(hn, name)]
    assert missing == []
    assert len(set(hn.__all__)) == len(hn.__all__)
    assert set(hn.__all__) <= set(dir(hn))


def test_names_of_the_mathematics_are_public() -> None:
    names = (
        "tsallis_log max_divergence tsallis_divergence hockey_stick Exponential Gamma Gumbel Weibull Frechet Pareto "
        "Laplace Gaussian Entropy Tsallis LogBarrier FTPL FTRL audit"
    )
    assert set(names.split()) <= set(hn.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Softmax"):
        _ = hn.Softmax


def test_version_has_three_numbers() -> None:
    assert hn.__version__.count(".") == 2


def test_a_first_game_loads_no_more_than_it_needs() -> None:
    """Slow modules are imported where they are used. Control: saving a record imports zipfile."""
    slow = ("numpy.random", "numpy.ma", "concurrent.futures", "zipfile", "hashlib", "decimal", "statistics",
            "pathlib", "hannan.mathematics.convex.losses")  # fmt: skip
    start = "import sys, hannan as hn; record = hn.play(hn.Bandit(2), [[0.0, 1.0]] * 600); "
    end = f"print([m for m in {slow!r} if m in sys.modules])"
    assert run(start + end) == "[]"
    saved = "import tempfile; record.save(tempfile.mkdtemp() + '/record.npz'); "
    assert "zipfile" in run(start + saved + end)


WITHOUT_SCIPY = """
import sys
sys.path[:0] = [{oracles!r}]
import numpy as np, hannan as hn, paths

z = np.full((40, 3), 0.2)
games = {{
    **{{name: one for name, one in {{**paths.tables(), **paths.younger()}}.items() if not name.startswith("own law")}},
    **{{name: (make(), {{"losses": table}}) for name, (make, table) in paths.points().items()}},
    "fpl": (hn.FPL(hn.MSets(3, 1), 5.0), {{"losses": z}}),
    "fpl-trix": (hn.FPLTrix(hn.MSets(3, 1)), {{"losses": z}}),
    "slates": (hn.SlateBandit(3, 2), {{"losses": z}}),
    "slates, all losses": (hn.SlateExperts(3, 2), {{"losses": z}}),
    "private": (hn.PrivateExperts(3, 1.0), {{"losses": z}}),
    "private ball": (hn.PrivateBall(hn.Ball(3), 1.0, 1.0), {{"losses": hn.Linear(z)}}),
    "local": (hn.LocallyPrivate(hn.Bandit(3), 1.0), {{"losses": z}}),
    "descent": (hn.OnlineGradientDescent(hn.Ball(3), 1.0), {{"losses": hn.Linear(z)}}),
    "optimistic": (hn.OptimisticDescent(hn.Ball(3), 1.0), {{"losses": hn.Linear(z)}}),
    "smooth": (hn.SmoothDescent(hn.Ball(3), 1.5, 1.0), {{"losses": hn.Squared(z, z[:, 0])}}),
    "newton": (hn.OnlineNewton(hn.Ball(3), 1.5, 0.1, 1.0), {{"losses": hn.Squared(z, z[:, 0])}}),
    "barrier": (hn.BarrierBandit(hn.Ball(3), 1.0, 40), {{"losses": hn.Linear(z)}}),
    "exponentiated": (hn.ExponentiatedGradient(hn.Simplex(3), 1.0), {{"losses": hn.Linear(z)}}),
}}
for name in [name for name in sys.modules if name.split(".")[0] == "scipy"]:
    del sys.modules[name]  # loaded by a law above


class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "scipy":
            raise ImportError(name)


sys.meta_path.insert(0, Refused())
asked = []
for name, (learner, given) in games.items():
    given = {{key: value[:40] for key, value in given.items()}}
    try:
        record = hn.play(learner, **given, runs=3)
        player, advice, row = learner.start(0), given.get("advice"), given["losses"][0]
        move = player.act() if advice is None else player.act(advice[0])
        if not hasattr(learner, "domain") and not player.sees_all:
            row = row[list(move.action)] if isinstance(move.action, tuple) else float(row[move.action])
        player.observe(move, row)
        str(record), str(player.certificate()), player.certificate(0.05)
    except ImportError:
        asked.append(name)
print(len({{type(learner) for learner, _ in games.values()}}), "scipy" in sys.modules)
print(*asked, sep="\\n")
"""


def test_learners_play_and_certify_without_scipy() -> None:
    """Controls: the Gamma law and private experts need special functions of SciPy."""
    oracles = str(Path(__file__).with_name("oracles"))
    first, *asked = run(WITHOUT_SCIPY.format(oracles=oracles)).splitlines()
    public = [value for name in hn.__all__ if isinstance(value := getattr(hn, name), type) and hasattr(value, "start")]
    assert first == f"{len(public)} False"
    assert asked
    private = [name for name in asked if name.startswith("private")]
    assert private
    others = [name for name in asked if name not in private]
    assert others
    assert all(", gamma " in name and not name.startswith("convex") for name in others), others


@pytest.mark.parametrize(("name", "cls"), hn._REMOVED.items())
def test_removed_name_raises_an_error_with_the_class(name: str, cls: str) -> None:
    with pytest.raises(AttributeError, match=rf"{name!r}.*hn\.{cls}\b"):
        getattr(hn, name)
    assert hasattr(hn, cls)
    assert not hasattr(algorithms, name)
    assert name not in dir(hn)


def test_every_function_that_renamed_a_class_is_removed() -> None:
    assert [*hn._REMOVED] == [
        "lb_inf", "squint", "adanormalhedge", "ml_poly", "delayed_ftrl", "dropout", "random_walk", "myga",
    ]  # fmt: skip
