"""The command `hannan combine`: files, standard input, errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from forecasts import table

import hannan as hn
from hannan.cli.combine import command
from hannan.tables.combine.run import Run
from hannan.tables.read import source


def write(path, forecasts, targets, names=None, times=None):
    names = names or [f"e{i}" for i in range(forecasts.shape[1])]
    lines = [",".join([*(["t"] if times else []), *names, "y"])]
    for t, (row, y) in enumerate(zip(forecasts, targets, strict=True)):
        cells = [*([times[t]] if times else []), *("" if np.isnan(f) else repr(float(f)) for f in row)]
        lines.append(",".join([*cells, "" if np.isnan(y) else repr(float(y))]))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_command_writes_the_results_of_combine(tmp_path):
    forecasts, targets = table(200, holes=0.2)
    file = write(tmp_path / "f.csv", forecasts, targets)
    out = tmp_path / "out"
    result = CliRunner().invoke(command, [file, "--target", "y", "--out", str(out), "--json"], catch_exceptions=False)
    told = json.loads(result.stdout)
    combined = hn.combine(forecasts, targets)
    assert told["mixture"]["total"] == pytest.approx(combined.summary.mix_loss)
    assert told["bound"]["value"] == pytest.approx(combined.summary.bound.value)
    assert told["best_combination"]["withheld"]
    assert sorted(p.name for p in out.iterdir()) == ["combined.csv", "index.html", "summary.json", "weights.csv"]
    rows = (out / "combined.csv").read_text().splitlines()
    assert rows[0] == "row,forecast"
    assert [float(line.split(",")[1]) for line in rows[1:]] == combined.forecast.tolist()
    weights = np.loadtxt(out / "weights.csv", delimiter=",", skiprows=1)
    assert (weights[:, 1:] == combined.weights).all()
    saved = tmp_path / "saved"
    hn.combine({f"e{i}": forecasts[:, i] for i in range(4)} | {"y": targets}, "y").save(saved)
    for name in ("combined.csv", "weights.csv", "summary.json"):
        assert (saved / name).read_text() == (out / name).read_text()
    plain = CliRunner().invoke(command, [file, "--target", "y"], catch_exceptions=False)
    assert "best model (" in plain.stdout


def test_parquet_gives_the_same_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    forecasts, targets = table(100, holes=0.2)
    frame = pandas.DataFrame(forecasts, columns=list("abcd")).assign(
        y=targets, t=pandas.date_range("2024", periods=100)
    )
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_csv(tmp_path / "f.csv", index=False)
    told = [
        json.loads(CliRunner().invoke(command, [str(tmp_path / name), "--target", "y", "--time", "t", "--json"]).stdout)
        for name in ("f.parquet", "f.csv")
    ]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("text", "options", "match"),
    [
        ("a,b\n1,2\n", [], "no column 'y'"),
        ("", [], "is empty"),
        ("a,y\n", [], "no rows"),
        ("y\n1\n", [], "no column of forecasts"),
        ("a,y\n1,x\n", [], "row 1, column 'y'"),
        ('a,y\n1,2\n1,"3', [], "not closed"),
        ("a,y\n1,2\n,3\n", [], "row 2: all forecasts are missing. Remove the row, or"),
        (
            "t,a,y\n1,1,2\n2,,3\n",
            ["--time", "t"],
            "row 2: all forecasts are missing. Remove",
        ),
        ("a,y\n1,2\n", ["--range", "0:0.5"], "stated range 0:0.5; got 1"),
        ("a,y\n1,2\n", ["--range", "1"], "the range must be LOW:HIGH"),
        ("a,y\n1,2\n", ["--loss", "huber"], "loss must be absolute"),
        ("t,a,y\n1,1,2\n1,1,2\n", ["--time", "t"], "times must be unique"),
        ("t,a,y\n2,1,2\n1,1,2\n", ["--time", "t"], "times must be increasing"),
        ("t,a,y\n2,1,2\n", ["--time", "u"], "no column 'u'"),
        ("a;y\n1;2\n", [], "Is the delimiter ';'"),
        ("a,,y\n1,2,3\n", [], "must have names; the name of column 2 is empty"),
        ("a,y\n1,2\n", ["--prior", "pool"], "--prior pool is for tables with many series; name their column with --by"),
        ("a,y\n1,2\n", ["--experts", "b"], "no column 'b'"),
    ],
)
def test_rejected_command_writes_nothing(tmp_path, text, options, match):
    (tmp_path / "f.csv").write_text(text)
    arguments = [str(tmp_path / "f.csv"), "--target", "y", "--out", str(tmp_path / "out"), *options]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code != 0
    assert match in str(result.exception)
    assert [p.name for p in tmp_path.iterdir()] == ["f.csv"]


def test_errors_of_the_command_take_one_line(tmp_path):
    """No traceback, exit code 2, nothing on standard output."""
    (tmp_path / "f.csv").write_text("a,y\n1,two\n")
    program = [sys.executable, "-c", "from hannan.cli import main; main()", "combine", str(tmp_path / "f.csv")]
    done = subprocess.run([*program, "--target", "y"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("hannan: error: ")
    assert "row 1, column 'y'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_command_accepts_100_000_columns(tmp_path):
    """100,000 experts: answers and weights for all, the summary of the best of them."""
    n = 100_000
    lines = [",".join([*(f"e{i}" for i in range(n)), "y"]), "0," * n + "1", "0," * (n - 1) + "1,1"]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    arguments = [str(tmp_path / "wide.csv"), "--target", "y", "--json", "--out", str(tmp_path / "out")]
    told = json.loads(CliRunner().invoke(command, arguments, catch_exceptions=False).stdout)
    assert told["number_of_experts"] == n
    assert told["best_expert"]["name"] == f"e{n - 1}"
    assert len(told["experts"]) == 2000
    weights = (tmp_path / "out" / "weights.csv").read_text().splitlines()
    assert [line.count(",") for line in weights] == [n] * 3


def test_a_large_file_is_read_in_chunks(tmp_path, monkeypatch):
    """The chunks passed to the engine are small, whatever the file."""
    forecasts, targets = table(5000, 3)
    file = write(tmp_path / "f.csv", forecasts, targets)

    monkeypatch.setattr(source, "CHUNK_CELLS", 400)
    sizes, take = [], Run.take

    def watched(self, chunk):
        sizes.append(len(chunk.targets))
        return take(self, chunk)

    monkeypatch.setattr(Run, "take", watched)
    result = CliRunner().invoke(command, [file, "--target", "y", "--json"], catch_exceptions=False)
    assert json.loads(result.stdout)["mixture"]["total"] == pytest.approx(
        hn.combine(forecasts, targets).summary.mix_loss
    )
    assert max(sizes[:-1]) <= 100


def test_standard_input_is_answered_row_by_row():
    """A row without a target is answered before anything else is written; then its target, then the next row."""
    program = [sys.executable, "-c", "from hannan.cli import main; main()", "combine", "-"]
    program += ["--target", "y", "--time", "t"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:

        def say(line):
            process.stdin.write(line + "\n")
            process.stdin.flush()

        say("t,a,b,y")
        say("1,1,3,")
        assert process.stdout.readline() == "t,forecast,a,b\n"
        first = process.stdout.readline().split(",")
        assert (first[0], float(first[1])) == ("1", 2.0)
        say("1,,,1")
        say("2,1,3,")
        second = process.stdout.readline().split(",")
        # As in the oracle of test_rule_b.
        assert (second[0], float(second[1])) == ("2", pytest.approx(1.618941421369995))
        assert float(second[2]) == pytest.approx((3.0 - float(second[1])) / 2.0)
        out, err = process.communicate("2,,,1\n", timeout=60)
        assert out == ""
        assert "2 rows, 2 targets late" in err
        assert "two layers of rule B" in err
        assert process.returncode == 0


def test_json_of_a_stream_is_json_lines(tmp_path):
    result = CliRunner().invoke(command, ["-", "--target", "y", "--json"], input="a,b,y\n1,3,1\n1,3,\n")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["forecast"] for line in lines[:2]] == pytest.approx([2.0, 1.618941421369995])
    assert lines[2]["summary"]["rows"] == {"answered": 2, "settled": 1, "waiting": 1, "late": 0}
    assert lines[2]["summary"]["forecasts"] == [{"row": 2, "time": None, "forecast": pytest.approx(1.618941421369995)}]
    timed = CliRunner().invoke(command, ["-", "--target", "y", "--time", "t", "--json"], input="t,a,y\n7,1,\n")
    lines = [json.loads(line) for line in timed.stdout.splitlines()]
    assert lines[0]["time"] == "7"
    assert lines[1]["summary"]["forecasts"] == [{"row": 1, "time": "7", "forecast": 1.0}]


DAYS = """day,anna,ben,naive,demand
2024-05-01,102,98,100,101
2024-05-02,104,99,101,105
2024-05-03,103,,105,104
2024-05-04,108,101,104,107
2024-05-05,106,100,107,
"""


def test_requested_forecast_is_printed(tmp_path):
    """The table of the README: on the terminal, in the summary, on the page, with the user's own name of the times."""
    (tmp_path / "f.csv").write_text(DAYS)
    arguments = [str(tmp_path / "f.csv"), "--target", "demand", "--time", "day", "--out", str(tmp_path / "out")]
    shown = CliRunner().invoke(command, arguments, catch_exceptions=False).stdout
    assert re.search(r"\nforecast +105\.8  for 2024-05-05 \(row 5\)\n", shown)
    assert shown.count("forecast  ") == 1
    rows = (tmp_path / "out" / "combined.csv").read_text().splitlines()
    assert rows[0] == "day,forecast"
    assert (tmp_path / "out" / "weights.csv").read_text().startswith("day,anna,ben,naive\n")
    told = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert told["forecasts"] == [{"row": 5, "time": "2024-05-05", "forecast": float(rows[5].split(",")[1])}]
    assert told["certificate"] is None
    assert [one["whom"] for one in told["promises"]] == ["the mean", "the best column, anna", "the best combination"]
    assert all(one["realised"] <= one["bound"] for one in told["promises"])
    if (tmp_path / "out" / "index.html").exists():
        page = (tmp_path / "out" / "index.html").read_text()
        assert "<b>105.8</b><span>forecast for 2024-05-05 (row 5)</span>" in page
        part = page[page.index("Next values: forecasts of rows that wait for their targets.") :]
        cells = re.findall(r"<td[^>]*><span>([^<]*)</span></td>", part[: part.index("</table>")])
        assert cells == ["5", "2024-05-05", "105.8"]
        assert "1.833 per row" in page
    # From Python, with the same files.
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(tmp_path / "f.csv")
    hn.combine(frame, "demand", time="day").save(tmp_path / "saved")
    for name in ("combined.csv", "weights.csv", "summary.json"):
        assert (tmp_path / "saved" / name).read_text() == (tmp_path / "out" / name).read_text()
    hn.combine(frame.dropna(subset="demand"), "demand", time="day").save(tmp_path / "none")
    assert json.loads((tmp_path / "none" / "summary.json").read_text())["forecasts"] == []


def test_name_of_the_times_may_equal_another_column(tmp_path):
    (tmp_path / "f.csv").write_text("played,a,y\n1,1,2\n")
    arguments = [str(tmp_path / "f.csv"), "--target", "y", "--time", "played", "--out", str(tmp_path / "out")]
    CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert (tmp_path / "out" / "combined.csv").read_text().startswith("time,forecast\n")


def test_summary_without_pending_rows_has_no_forecasts(tmp_path):
    (tmp_path / "f.csv").write_text("a,y\n1,2\n")
    shown = CliRunner().invoke(command, [str(tmp_path / "f.csv"), "--target", "y"], catch_exceptions=False).stdout
    assert "forecast  " not in shown
    assert "wait" not in shown
