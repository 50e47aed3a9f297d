"""Tables: accepted content, and rejections by row and column."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from hannan.games.checkpoints import Trace
from hannan.saving.files import Outbox
from hannan.tables.read import source
from hannan.tables.read.source import CsvTable, from_text, open_table
from hannan.tables.read.table import BadTable, Clock, Columns, instant
from hannan.tables.write import RowWriter, Spool, guarded, unguarded


def read(text, columns=None):
    return list(from_text(text, columns).chunks())


def test_numbers_texts_and_missing():
    (chunk,) = read("t,a,b\n x ,1, 2.5\ny,NA,nan\nz,,-1e3\n", Columns(texts=("t",)))
    assert chunk.texts == {"t": ["x", "y", "z"]}
    np.testing.assert_array_equal(chunk.numbers, [[1, 2.5], [np.nan, np.nan], [np.nan, -1000]])
    assert chunk.first == 1


def test_chosen_columns_and_quotes():
    (chunk,) = read('"a,b","c ""d""",e\n1,2,3\n\n4,"5",6\n', Columns(numeric=("e", 'c "d"')))
    assert chunk.numbers.tolist() == [[3, 2], [6, 5]]


BAD = {
    "empty": ("", "is empty"),
    "blank lines": ("\n\n", "is empty"),
    "header only": ("a,b\n", "no rows"),
    "a word": ("a,b\n1,2\n3,four\n", r"row 2, column 'b': expected a number or an empty cell; got 'four'"),
    "a formula": ("a,b\n1,=1+1\n", r"row 1, column 'b'.*'=1\+1'"),
    "underscores": ("a,b\n1,1_000\n", r"row 1, column 'b'.*'1_000'"),
    "infinite": ("a,b\n1,2\n1,inf\n", r"row 2, column 'b': expected a finite number; got inf"),
    "ragged": ("a,b\n1,2\n1,2,3\n", "row 2: expected 2 cells.*got 3"),
    "short": ("a,b\n1\n", "row 1: expected 2 cells"),
    "cut off in a quote": ('a,b\n1,2\n3,"4', "row 2: a quoted field is not closed"),
    "cut off in the header": ('a,"b', "the header: a quoted field is not closed"),
    "double names": ("a,b,a\n1,2,3\n", "column names of the text must be unique; got 'a' in columns 1 and 3"),
    "NUL": ("a,b\n1,\0\n", "row 1"),
    "text after a quote": ('a,b\n1,"2"x\n', "row 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_tables_are_rejected_by_name(name):
    text, match = BAD[name]
    with pytest.raises(BadTable, match=match):
        read(text)


def test_needed_columns():
    with pytest.raises(BadTable, match=r"no column 'y'.*columns are 'a', 'b'"):
        read("a,b\n1,2\n", Columns(needs=("y",)))
    with pytest.raises(BadTable, match="Is the delimiter ';'"):
        read("a;y\n1;2\n", Columns(needs=("y",)))
    with pytest.raises(BadTable, match="row 2, column 'b': a value is required"):
        read("a,b\n1,2\n3,\n", Columns(complete=frozenset("b")))


def test_unterminated_field_is_rejected():
    with pytest.raises(BadTable, match="longer than"):
        read('a,b\n1,"' + "x" * 200_000 + "\n")


def test_chunks_together_are_the_table(tmp_path):
    rng = np.random.default_rng(0)
    table = rng.random((1000, 3))
    text = "a,b,c\n" + "\n".join(",".join(repr(float(x)) for x in row) for row in table)
    chunks = list(from_text(text).chunks(rows=70))
    assert [c.first for c in chunks] == list(range(1, 1001, 70))
    np.testing.assert_array_equal(np.vstack([c.numbers for c in chunks]), table)


# Large files are read by pyarrow in blocks; numbers and errors are the same.


@pytest.fixture
def quick(monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(source, "QUICK_FROM", 1)
    monkeypatch.setattr(source, "QUICK_BLOCK", 200)


def from_file(tmp_path, text, columns=None):
    file = tmp_path / "table.csv"
    file.write_text(text, encoding="utf-8", newline="")
    table = open_table(file, columns or Columns())
    try:
        return list(table.chunks())
    finally:
        table.close()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fast_reader_gives_the_same_table(quick, tmp_path, end):
    rng = np.random.default_rng(1)
    lines = [f"t{i},{a!r},{b!r}" for i, (a, b) in enumerate(rng.random((100, 2)).tolist())]
    lines[7], lines[40], lines[41], lines[70] = "t7,,NaN", "t40, 1.5 ,+2", "", 'q"uo,1,2'
    lines[70] = '"t, 70",null,1e-5'
    text = end.join(["t,a,b", *lines])
    chunks = from_file(tmp_path, text, Columns(texts=("t",)))
    slow = list(from_text(text, Columns(texts=("t",))).chunks())
    np.testing.assert_array_equal(np.vstack([c.numbers for c in chunks]), np.vstack([c.numbers for c in slow]))
    texts = [x for c in chunks for x in c.texts["t"]]
    assert texts == [x for c in slow for x in c.texts["t"]]
    assert "t, 70" in texts
    assert len(chunks) > 3
    firsts = [c.first for c in chunks]
    assert firsts == list(np.cumsum([1, *(len(c) for c in chunks[:-1])]))


@pytest.mark.parametrize("bad", ["x9,1,two", "x9,1", "x9,1,2,3", "x9,1,inf", 'x9,1,"2', "x9,1,1_0"])
def test_fast_reader_raises_the_same_errors(quick, tmp_path, bad):
    lines = [f"x{i},{i},{i}" for i in range(60)]
    lines[50] = bad
    text = "\n".join(["t,a,b", *lines])
    with pytest.raises(BadTable) as fast:
        from_file(tmp_path, text, Columns(texts=("t",)))
    with pytest.raises(BadTable) as slow:
        read(text, Columns(texts=("t",)))
    assert str(fast.value).split(",", 1)[1] == str(slow.value).split(",", 1)[1]
    assert "row 51" in str(fast.value) or "not closed" in str(fast.value)


def test_files_without_a_table_are_rejected(tmp_path):
    for name, content, match in [
        ("a.csv", b"\xff\xfea\0", "UTF-16"),
        ("b.xlsx", b"PK\x03\x04rest", "spreadsheet"),
        ("c.csv.gz", b"\x1f\x8b0000", "gzip"),
        ("d.csv", b"a,b\n1,\xff\xfe\n", "UTF-8"),
        ("e.csv", b"a,b\n1,2\n\n1,caf\xe9\n", r"e\.csv, row 2: expected text in UTF-8; got b'caf\\xe9'"),
        ("e.csv", b"a,caf\xe9\n1,2\n", "the header: expected text in UTF-8"),
        ("e.parquet", b"PAR1 torn", "not a valid Parquet file"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadTable, match=match):
            list(open_table(tmp_path / name, Columns()).chunks())
    with pytest.raises(BadTable, match="No such file"):
        open_table(tmp_path / "nowhere.csv", Columns())
    with pytest.raises(BadTable, match="is a folder"):
        open_table(tmp_path, Columns())


def test_byte_order_mark_is_not_part_of_a_name(tmp_path):
    (tmp_path / "bom.csv").write_bytes("﻿a,b\n1,2\n".encode())
    assert open_table(tmp_path / "bom.csv", Columns()).names == ["a", "b"]


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"t": ["x", "y", None], "a": [1, None, 3], "b": [0.5, 1.5, 2.5]})
    parquet.write_table(table, tmp_path / "t.parquet")
    (chunk,) = open_table(tmp_path / "t.parquet", Columns(texts=("t",))).chunks()
    np.testing.assert_array_equal(chunk.numbers, [[1, 0.5], [np.nan, 1.5], [3, 2.5]])
    assert chunk.texts["t"] == ["x", "y", ""]
    chunks = list(open_table(tmp_path / "t.parquet", Columns(texts=("t",))).chunks(rows=2))
    assert [(c.first, len(c)) for c in chunks] == [(1, 2), (3, 1)]
    with pytest.raises(BadTable, match="column 't': expected a numeric column; got string"):
        open_table(tmp_path / "t.parquet", Columns())
    with pytest.raises(BadTable, match="no column 'y'"):
        open_table(tmp_path / "t.parquet", Columns(needs=("y",)))
    parquet.write_table(table.slice(0, 0), tmp_path / "none.parquet")
    with pytest.raises(BadTable, match="no rows"):
        open_table(tmp_path / "none.parquet", Columns(texts=("t",)))
    infinite = pyarrow.table({"a": [1.0, float("inf")]})
    parquet.write_table(infinite, tmp_path / "inf.parquet")
    with pytest.raises(BadTable, match="row 2, column 'a': expected a finite number"):
        list(open_table(tmp_path / "inf.parquet", Columns()).chunks())


def test_two_million_columns():
    """A header and a row of two million cells: accepted."""
    n = 2_000_000
    header = ",".join(map(str, range(n)))
    (chunk,) = read(f"{header}\n{'1,' * (n - 1)}2\n")
    assert chunk.numbers.shape == (1, n)
    assert chunk.numbers[0, -1] == 2


def test_standard_input_row_by_row(monkeypatch):
    """A row is returned before the next one is read."""
    asked = []

    class Lines(io.StringIO):
        def __next__(self):
            line = super().__next__()
            asked.append(line)
            return line

    monkeypatch.setattr(sys, "stdin", Lines("a,b\n1,2\n3,4\n5,6\n"))
    seen = []
    for chunk in open_table("-", Columns()).chunks(rows=1):
        seen.append(chunk.numbers.tolist())
        assert len(asked) == len(seen) + 1
    assert seen == [[[1, 2]], [[3, 4]], [[5, 6]]]
    assert isinstance(open_table.__doc__, str)


def test_times():
    assert instant("3") == ("number", 3)
    assert instant("20240501093000000000000001")[1] - instant("20240501093000000000000000")[1] == 1
    assert instant("2024-05-01T10:00:00Z")[0] == "date with a zone"
    clock = Clock("t", "the file")
    for row, text in enumerate(["2024-05-01", "2024-05-02T10:00", "2024-05-03"]):
        assert clock.tick(text, row + 1)[1]
    for text, match in [
        ("", "row 4, column 't': a time is required"),
        ("noon", "a number or a date"),
        ("17", "all times must be of the kind 'date'; got '17', a number"),
        ("2024-06-01T00:00+02:00", "a date with a zone"),
        ("nan", "a number or a date"),
    ]:
        with pytest.raises(BadTable, match=match):
            clock.tick(text, 4)
    value, later = clock.tick("2024-05-02", 5)
    assert not later
    assert "must be increasing" in str(clock.out_of_order("2024-05-02", value, 5))
    value, later = clock.tick("2024-05-03", 6)
    assert "times must be unique" in str(clock.out_of_order("2024-05-03", value, 6))


def half_way(folder):
    with Outbox(folder) as out:
        out.path("a.txt").write_text("half")
        raise RuntimeError


def test_outbox_is_atomic(tmp_path):
    folder = tmp_path / "out"
    with pytest.raises(RuntimeError):
        half_way(folder)
    assert list(tmp_path.iterdir()) == []
    with Outbox(folder) as out:
        out.path("a.txt").write_text("whole")
    assert (folder / "a.txt").read_text() == "whole"
    (folder / "mine.txt").write_text("kept")
    with pytest.raises(RuntimeError):
        half_way(folder)
    assert (folder / "a.txt").read_text() == "whole"
    with Outbox(folder) as out:
        out.path("a.txt").write_text("new")
    assert sorted(p.name for p in folder.iterdir()) == ["a.txt", "mine.txt"]
    assert (folder / "a.txt").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is a file"):
        Outbox(tmp_path / "file")


@pytest.mark.parametrize("arrow", [True, False])
def test_written_rows_are_read_back(tmp_path, monkeypatch, arrow):
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    numbers = np.array([0.1, 1e-300, np.nan, -1 / 3])
    with RowWriter(tmp_path / "t.csv", ["name, with", "x", "n"]) as out:
        out.write([["a", 'b "c"', "d,e", "f"], numbers, np.arange(4)])
        out.write([["g"], numbers[:1], np.arange(1)])
    (chunk,) = open_table(tmp_path / "t.csv", Columns(texts=("name, with",))).chunks()
    assert chunk.texts["name, with"] == ["a", 'b "c"', "d,e", "f", "g"]
    np.testing.assert_array_equal(chunk.numbers[:4, 0], numbers)


def test_spool():
    spool = Spool(2)
    assert spool.array().shape == (0, 2)
    spool.add(np.array([[1.0, 2.0]]))
    spool.add(np.array([[3.0, 4.0], [5.0, 6.0]]))
    assert spool.array().tolist() == [[1, 2], [3, 4], [5, 6]]
    assert len(spool) == 3
    spool.close()


def test_trace_is_bounded_and_even():
    trace, at = Trace(50), []
    for row in range(1, 5001):
        if len(trace.due(row - 1, 1)):
            trace.add(row, np.array([float(row)]))
            at.append(row)
    rows = trace.rows()
    assert 25 <= len(rows) <= 50
    assert set(np.diff(rows)) == {rows[0]}
    assert (trace.points()[:, 0] == rows).all()
    one = Trace(50)
    one.expect(0, 5000)
    assert len(one.due(0, 5000)) <= 50


@pytest.mark.parametrize("delimiter", ["||", "", '"', "\n", "\r"])
def test_delimiter_must_be_one_character_other_than_a_quote(delimiter):
    with pytest.raises(BadTable, match="delimiter must be one character"):
        CsvTable(io.StringIO("a||b\n"), Columns(), "x", delimiter)


def test_rows_are_the_same_with_and_without_pyarrow(tmp_path, monkeypatch):
    """Numbers are equal to the last bit after reading, also names with commas, quotes and line ends."""
    import csv
    import sys

    from hannan.tables.write import RowWriter

    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.random(50) * 10.0 ** rng.integers(-300, 300, 50), [0.0, 1.0, -0.0, 5e-324, np.nan]])
    names = ["plain", "a,b", 'a"b', "two\nlines", "=1+1", " ", "ü"] * 7 + ["x"] * 6
    columns = [np.arange(55), numbers, names]
    for fast in (True, False):
        if not fast:
            monkeypatch.setitem(sys.modules, "pyarrow", None)
        with RowWriter(tmp_path / "t.csv", ["row", "x", "name"]) as out:
            out.write(columns)
            out.write([column[:3] for column in columns])
        with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        assert head == ["row", "x", "name"]
        assert [int(row[0]) for row in rows] == [*range(55), 0, 1, 2]
        told = np.array([float(row[1]) if row[1] else np.nan for row in rows[:55]])
        assert (told.view(np.uint64)[:54] == numbers.view(np.uint64)[:54]).all()
        assert np.isnan(told[54])
        assert [unguarded(row[2]) for row in rows[:55]] == names


NAMES = ("=1+1", "+x", "-y", "@z", "\tq", "\rr", "'=1", "''-y", "'plain", "-3.5", "+2e3", "-1_0", "a=b", "'", "")


def test_formulas_are_guarded_and_read_back():
    for name in NAMES:
        assert unguarded(guarded(name)) == name
        assert guarded(name)[:1] not in tuple("=+-@\t\r") or name in ("-3.5", "+2e3")
    assert guarded("=1+1") == "'=1+1"
    assert [guarded(name) for name in ("'plain", "a=b", "-3.5", "")] == ["'plain", "a=b", "-3.5", ""]
    # An escaped name that the user chose stays different from the name that is escaped to it.
    assert len({guarded(name) for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("arrow", [True, False])
def test_no_formula_is_written_to_a_file(tmp_path, monkeypatch, arrow):
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    names = ["t", '=HYPERLINK("http://x")', "@sum", "'-y"]
    with RowWriter(tmp_path / "a.csv", names) as rows:
        rows.write([["=now()", "-1", "plain"], np.arange(3.0), np.arange(3.0), -np.arange(3.0)])
    text = (tmp_path / "a.csv").read_text()
    assert not any(cell.lstrip('"')[:1] in tuple("=@") for line in text.splitlines() for cell in line.split(","))
    table = open_table(tmp_path / "a.csv", Columns(texts=("t",)))
    assert table.names == names[1:]
    (chunk,) = table.chunks()
    assert chunk.texts["t"] == ["=now()", "-1", "plain"]
    table.close()


def test_standard_input_is_read_like_a_file(monkeypatch):
    for text in (b'\xef\xbb\xbf"a",b\n1,2\n', b'"a",b\r\n1,2\r\n'):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="ascii"))
        assert open_table("-", Columns()).names == ["a", "b"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,\xff\n"), encoding="latin-1"))
    with pytest.raises(BadTable, match="expected text in UTF-8"):
        list(open_table("-", Columns()).chunks(1))
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(BadTable, match="standard input is closed"):
        open_table("-", Columns())
