"""Which carrier leaves New York on time? A bandit sees only the delay of the one it took.

Every hour of 2013 in which six carriers flew is a round; the loss is the mean departure delay, in hours, at most
one. A bandit is measured against the best carrier; a bandit with experts may also follow rolling rules ("the
carrier with the least delay of the last 5 hours"), and is measured against the best rule.
"""

from __future__ import annotations

import numpy as np
import real_data

import hannan as hn
from hannan.games.record import Record
from hannan.report import Layer, Picture


def games(runs: int = 20) -> dict[str, Record]:
    """The same hours, played by a bandit, and by two bandits with experts."""
    losses, advice, rules = real_data.flights()
    n, experts = losses.shape[1], len(rules)
    return {
        "bandit": hn.play(hn.Bandit(n), losses, runs=runs),
        "with rules": hn.play(hn.ExpertBandit(n, experts), losses, runs=runs, advice=advice),
        "rules, clipped": hn.play(hn.ExpertBandit(n, experts, clip="tuned"), losses, runs=runs, advice=advice),
    }


def delays() -> dict[str, float]:
    """Mean delay, in minutes, of each rule and of each carrier."""
    losses, advice, rules = real_data.flights()
    rows = np.arange(len(losses))
    return {rule: 60.0 * float(losses[rows, advice[:, i]].mean()) for i, rule in enumerate(rules)}


def own_delay(record: Record) -> float:
    """Mean delay, in minutes, of a learner: the best in hindsight plus the regret."""
    return 60.0 * (float(record.mean_regret[-1]) + float(np.mean(record.best_loss))) / record.rounds


def picture() -> Picture:
    """Mean delay of learners, rules and carriers."""
    bars = [{"who": name, "minutes": own_delay(record), "kind": "learner"} for name, record in games(10).items()]
    bars += [
        {"who": name, "minutes": y, "kind": "carrier" if name.startswith("always") else "rule"}
        for name, y in delays().items()
    ]
    alt = "Mean departure delay in minutes: " + ", ".join(f"{bar['who']} {bar['minutes']:.1f}" for bar in bars)
    layer = Layer("points", tuple(bars), x="who", y="minutes", series="kind")
    order = tuple(str(bar["who"]) for bar in bars)
    return Picture("Flights: mean departure delay", "", "minutes", (layer,), alt=alt, x_kind="nominal", order=order)


def main() -> None:
    """Print the mean delays."""
    for rule, minutes in delays().items():
        print(f"{rule:<22} {minutes:6.2f} minutes")
    for name, record in games().items():
        assert record.bound is not None
        print(
            f"{name:<22} {own_delay(record):6.2f} minutes, "
            f"regret {record.mean_regret[-1]:.1f} <= {record.bound.value:.1f}"
        )


if __name__ == "__main__":
    main()
