"""Replay a log with propensities: the Open Bandit sample of ZOZOTOWN, 10,000 recommendations a policy.

A click is a gain. The log drew its items uniformly, and says so in its propensities. How would our bandits have done?
The data come with obp, whose dependencies are not needed:  pip install --no-deps obp
"""

from __future__ import annotations

import pandas
import real_data

import hannan as hn
from hannan.tables.replay import Replay


def replayed(runs: int = 5) -> Replay:
    """Three bandits on the men's campaign: 34 items."""
    log = pandas.read_csv(real_data.open_bandit("random", "men"), usecols=["item_id", "click", "propensity_score"])
    learners = ["bandit", "exp3", "bandit:exponential"]
    return hn.replay(log, "item_id", "click", "propensity_score", learner=learners, gains=True, runs=runs)


def main() -> None:
    """Print the estimates."""
    try:
        print(replayed())
    except real_data.NotInstalled as missing:
        print(f"skipped: {missing}")


if __name__ == "__main__":
    main()
