"""The command `hannan replay`: evaluate bandit algorithms on logged decisions."""

from __future__ import annotations

from pathlib import Path

import click

from hannan.cli.options import fits, shared

EPILOG = """\b
Examples:
  hannan replay log.csv --action arm --loss cost
  hannan replay log.csv --action item --loss click --gains --propensity p --learner bandit --learner exp3
  hannan replay log.csv --action arm --loss reward --gains --propensity p --smallest smallest_probability --missing 0
  hannan replay log.csv --action arm --loss reward --gains --propensity p --anytime --probabilities a:pa,b:pb
  hannan replay log.csv --action arm --loss cost --context-advice rule1,rule2 --out replayed
  hannan replay log.csv --action item --loss click --gains --propensity p --contexts device --policy mine=a:p_a,b:p_b
"""


@click.command(epilog=EPILOG, short_help="Evaluate bandit algorithms offline on logged decisions.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--action", required=True, metavar="COLUMN", help="Column of the logged action.")
@click.option("--loss", required=True, metavar="COLUMN", help="Column of the loss (with --gains: reward).")
@click.option(
    "--propensity", metavar="COLUMN", help="Column of logging propensities (default: uniform logging policy)."
)
@click.option(
    "--smallest",
    metavar="COLUMN",
    help="Column of the smallest probability of any action; verifies the condition of the intervals.",
)
@click.option("--anytime", is_flag=True, help="Compute intervals that hold for all numbers of rows simultaneously.")
@click.option(
    "--probabilities",
    metavar="ACTION:COLUMN,...",
    help="Columns of the probabilities of all actions; makes intervals of --anytime narrower.",
)
@click.option(
    "--missing", metavar="NUMBER|drop", help="Meaning of an empty loss: a number, or drop to leave out the row."
)
@click.option(
    "--context-advice", "advice", metavar="A,B,...", help="Columns with the action that each expert recommends."
)
@click.option(
    "--contexts",
    metavar="A,B,...",
    help="Context columns, e.g. device. Each becomes an expert that recommends the best action so far in that context.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME=ACTION:COLUMN,...",
    help="Evaluate a fixed policy: for each action the column of its probability (repeatable).",
)
@click.option(
    "--learner",
    "learners",
    multiple=True,
    metavar="NAME",
    help="Learner to evaluate, such as bandit, exp3 or bandit:tsallis:0.5 (repeatable).",
)
@click.option("--actions", metavar="A,B,...", help="All actions (default: those in the log).")
@click.option("--range", "span", metavar="LOW:HIGH", default="0:1", show_default=True, help="Range of the losses.")
@click.option("--gains", is_flag=True, help="Values are rewards (larger is better).")
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="Number of replays per learner.")
@click.option("--delimiter", default=",", show_default=True, help="Character between the cells.")
@shared("Folder for summary.json and index.html.")
def command(
    file: Path, action: str, loss: str, propensity: str | None, smallest: str | None, missing: str | None,
    advice: str | None, contexts: str | None, policies: tuple[str, ...], learners: tuple[str, ...], actions: str | None,
    span: str, gains: bool, runs: int, delimiter: str, anytime: bool, probabilities: str | None, as_json: bool,
    seed: int, out: Path | None,
) -> None:  # fmt: skip
    """Evaluate bandit algorithms offline on logged decisions: a CSV or Parquet FILE (- for standard input).

    Prints the estimated loss of each learner with a confidence interval. A log that does not support the estimates is
    an error that states the reason.
    """
    from hannan import validation
    from hannan.cli.options import listed, opened, save_and_print, watched
    from hannan.tables.learner import for_decisions, parse_range
    from hannan.tables.read.table import Columns, log_roles
    from hannan.tables.replay import evaluate
    from hannan.tables.replay.log import Log, meaning_of, read_log
    from hannan.tables.replay.policies import parse
    from hannan.tables.replay.policies import policies as own_policies

    experts, seen_in = listed(advice), listed(contexts)
    log_roles(action, loss, propensity, experts, seen_in, smallest)
    meaning = meaning_of(missing)
    said = [parse(text) for text in policies]
    validation.once((name for name, _ in said), "policies")
    wanted = own_policies(dict(said))
    chances = None if probabilities is None else own_policies(dict([parse(f"the log={probabilities}")]))[0]
    fits(1000.0 * runs, f"{runs} runs")  # sums and estimates that are kept per run
    complete = (*(() if propensity is None else (propensity,)), *(c for one in wanted for c in one.columns))
    optional = (*(() if smallest is None else (smallest,)), *(() if chances is None else chances.columns))
    numbers = tuple(dict.fromkeys((loss, *optional, *complete)))
    columns = Columns(
        texts=(action, *experts, *seen_in), numeric=numbers, complete=frozenset(complete) - {loss, *optional}
    )
    with opened(file, columns, delimiter) as table:
        log = Log(
            experts,
            listed(actions),
            table.source,
            contexts=seen_in,
            policies=wanted,
            gains=gains,
            missing=meaning,
            smallest=smallest,
            chances=chances,
        )
        read_log(
            watched(table),
            table.names,
            action,
            loss=loss,
            propensity=propensity,
            advice=experts,
            log=log,
            contexts=seen_in,
        )
    try:
        range_ = parse_range(span)
        chosen = for_decisions(list(learners), len(log.labels), len(log.experts), range_, gains, len(log))
        told = evaluate(log, chosen, runs, seed, names=learners, span=range_, gains=gains, anytime=anytime)
    finally:
        log.close()
    save_and_print(told, out, as_json)
