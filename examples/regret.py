"""Draw the picture of regret on the start page: cumulative losses of three fixed choices and of a learner.

Usage: python examples/regret.py docs/regret.png
"""

from __future__ import annotations

import sys

import numpy as np

import hannan as hn

ROUNDS = 365


def losses(seed: int = 3) -> np.ndarray:
    """Return losses of three routes in minutes, scaled to [0, 1]; the second route is the best one."""
    rng = np.random.default_rng(seed)
    minutes = np.array([30.0, 22.0, 34.0]) + rng.normal(0.0, 5.0, (ROUNDS, 3))
    return np.clip(minutes / 60.0, 0.0, 1.0)


def curves(table: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the cumulative losses of the fixed choices and of the default bandit, in hours."""
    player, own = hn.Bandit(3).start(seed=seed), np.empty(len(table))
    for t, row in enumerate(table):
        move = player.act()
        own[t] = row[move.action]
        player.observe(move, own[t])
    return table.cumsum(axis=0), own.cumsum()


def draw(path: str) -> None:
    """Write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    fixed, own = curves(losses())
    fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for i, (name, color) in enumerate((("A", "0.55"), ("B", "tab:blue"), ("C", "0.55"))):
        ax.plot(fixed[:, i], color=color, lw=1.5)
        ax.annotate(f"always route {name}", (ROUNDS, fixed[-1, i]), (6, 0), textcoords="offset points",
                    color=color, va="center")  # fmt: skip
    ax.plot(own, color="tab:orange", lw=2.5)
    ax.annotate("learner", (ROUNDS, own[-1]), (6, 4), textcoords="offset points", color="tab:orange", va="center")
    ax.fill_between(range(ROUNDS), fixed[:, 1], own, color="tab:orange", alpha=0.25, lw=0)
    ax.annotate("regret", (ROUNDS - 8, (fixed[-8, 1] + own[-8]) / 2), (-40, -60), textcoords="offset points",
                fontsize=12, arrowprops={"arrowstyle": "-", "color": "0.4"})  # fmt: skip
    ax.set(xlabel="days", ylabel="hours on the road", xlim=(0, ROUNDS * 1.2), ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(sys.argv[1])
