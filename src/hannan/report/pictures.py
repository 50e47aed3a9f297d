"""Pictures as data: layers of marks over rows, turned into Altair charts only when a page is written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from hannan import extras


@lru_cache(maxsize=1)
def javascript() -> str:
    """Vega, Vega-Lite and vega-embed as vl-convert carries them; kept in the user's cache folder where it can be."""
    try:
        kept = _folder() / f"vega-{version('vl-convert-python')}.js"
    except (PackageNotFoundError, RuntimeError):
        return _made()
    try:
        text = kept.read_text(encoding="utf-8")
        if text.endswith(_END):
            return text
    except (OSError, UnicodeDecodeError):
        pass
    text = _made()
    _keep(kept, text)
    return text


#: The last line of a file that is whole.
_END = "\n// end of bundle\n"


def _made() -> str:
    return str(import_module("vl_convert").javascript_bundle()) + _END


def _folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "hannan"


def _keep(path: Path, text: str) -> None:
    """Write beside the place and rename; a folder that cannot be written to is no reason to fail."""
    beside = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, path)
    except OSError:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)


def altair() -> Any:
    """The chart library, or what to install for it."""
    try:
        import altair
    except ImportError:
        raise ModuleNotFoundError(f"plot needs altair: {extras.command('report')}") from None
    return altair


def offline(chart: Any) -> Any:
    """The same Altair chart, which a notebook shows as SVG, drawn by vl-convert in the kernel.

    Altair's own way is a script that the reader's browser fetches. Whoever has said how charts are to be shown, such as
    `altair.renderers.enable("mimetype")`, gets that.

    >>> import altair as alt
    >>> chart = offline(alt.layer(alt.Chart(alt.Data(values=[{"x": 1}])).mark_bar().encode(x="x:Q")))
    >>> isinstance(chart, alt.LayerChart), list(chart.properties(width=99)._repr_mimebundle_())
    (True, ['image/svg+xml'])
    """
    kind: Any = type(chart)
    object.__setattr__(chart, "__class__", _shown_offline(kind))  # its own setter takes every name for a keyword
    return chart


#: Texts are measured here and drawn by the reader: in fonts of the same widths, or with room for wider ones.
_FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
_ROOM = {"left": 24, "right": 24, "top": 5, "bottom": 5}


@lru_cache
def _shown_offline(kind: type[Any]) -> type[Any]:
    """A class of charts that is `kind`, but for how it is shown."""

    def bundle(self: Any, *args: Any, **given: Any) -> Any:
        chosen = altair().renderers
        if chosen.active != "default":
            return kind._repr_mimebundle_(self, *args, **given)
        own = {} if self.config is altair().Undefined else self.config.to_dict()
        with chosen.enable("svg"):
            return kind._repr_mimebundle_(self.configure(**own | {"font": _FONT, "padding": _ROOM}), *args, **given)

    return type(kind.__name__, (kind,), {"_repr_mimebundle_": bundle, "__module__": kind.__module__})


Row = dict[str, Any]
Mark = Literal["line", "points", "bound", "band", "bars", "across", "stack", "heat", "rule", "spans"]

#: Colours of series that keep their contrast on white and on dark paper; the first is the subject.
PALETTE = ("#2f7ed8", "#e0702f", "#2fa37c", "#b35cc4", "#c39a1b", "#d9536f", "#4fb0c6", "#8d939c")


@dataclass(frozen=True)
class Layer:
    """One mark over its rows. `y` (and `low`, `high` of a band; `value` of a heat map) are fields of the rows.

    "bound" is a dashed line in the colour of the text: what theory says, beside what was measured. "rule" is a
    horizontal line at the one `y` of its row, with the label of the row. "across" are bars to the right, a name each
    (`y`), in the order of the picture; "spans" are dots there with whiskers from `low` to `high`, over bars whiskers
    alone; "stack" are areas on top of each other, the first series below.
    """

    mark: Mark
    rows: tuple[Row, ...] = field(hash=False)
    x: str = "x"
    y: str = "y"
    series: str | None = None
    low: str = "low"
    high: str = "high"
    value: str = "value"


@dataclass(frozen=True)
class Picture:
    """Layers over common axes, with the words that stand for it where it cannot be seen (`alt`).

    >>> from hannan.report import Layer, Picture
    >>> rows = ({"x": 1, "y": 1.0}, {"x": 10, "y": 3.2})
    >>> picture = Picture("Growth", "T", "regret", (Layer("line", rows),), alt="regret grows like T^0.5", x_log=True)
    >>> picture.spec()["description"]
    'regret grows like T^0.5'
    """

    title: str
    x_title: str
    y_title: str
    layers: tuple[Layer, ...]
    alt: str
    x_log: bool = False
    y_log: bool = False
    #: Whether the axis of y begins at 0.
    y_zero: bool = True
    height: int = 260
    x_kind: Literal["quantitative", "nominal", "ordinal", "temporal"] = "quantitative"
    order: tuple[str, ...] = ()
    legend: str = ""

    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification, made by Altair."""
        return dict(self.chart().to_dict())

    def chart(self, width: int | str = "container") -> Any:
        """The Altair chart; with its title and a width of its own where there is no page around it."""
        alt, names = altair(), _series(self)
        scale = alt.Scale(domain=names, range=[PALETTE[i % len(PALETTE)] for i in range(len(names))]) if names else None
        charts = [_layer(alt, self, layer, scale) for layer in self.layers]
        titled = {} if width == "container" else {"title": self.title}
        return offline(
            alt.layer(*charts)
            .properties(width=width, height=self.height, description=self.alt, **titled)
            .configure_view(stroke=None)
        )


def _series(picture: Picture) -> list[str]:
    """Every series of every layer, in the order they come: one colour each in the whole picture."""
    seen: dict[str, None] = {}
    for layer in picture.layers:
        if layer.series is not None and layer.mark not in ("bound", "rule", "heat"):
            for row in layer.rows:
                seen.setdefault(str(row[layer.series]))
    return list(seen)


def _layer(alt: Any, picture: Picture, layer: Layer, scale: Any) -> Any:
    base = alt.Chart(alt.InlineData(values=_drawable(picture, layer)))
    x, y = _axes(alt, picture, layer)
    tips = [
        alt.Tooltip(f"{name}:{'Q' if _numeric(layer, name) else 'N'}", **_format(layer, name))
        for name in _fields(layer)
    ]
    colour = alt.value(PALETTE[0])
    if layer.series is not None and layer.mark not in ("bound", "rule", "heat"):
        # How many columns the legend has is the page's to say: it knows its width.
        legend = alt.Legend(title=picture.legend or None, orient="top", direction="horizontal", symbolLimit=0)
        colour = alt.Color(f"{layer.series}:N", scale=scale, legend=legend)
    if layer.mark == "line":
        # One row of points every round would hide the line; few points show where it was measured.
        dots = len(layer.rows) <= 60
        return base.mark_line(point={"size": 28, "filled": True} if dots else False, strokeWidth=2).encode(
            x=x, y=y, color=colour, tooltip=tips
        )
    if layer.mark == "points":
        return base.mark_point(filled=True, size=46, opacity=0.85).encode(x=x, y=y, color=colour, tooltip=tips)
    if layer.mark == "bars":
        offset = {"xOffset": alt.XOffset(f"{layer.series}:N")} if layer.series and layer.series != layer.x else {}
        return base.mark_bar(cornerRadiusEnd=2).encode(x=x, y=y, color=colour, tooltip=tips, **offset)
    if layer.mark in ("across", "spans"):
        names = alt.Y(f"{layer.y}:N", sort=list(picture.order) or None, title=None, axis=alt.Axis(labelLimit=170))
        axis = alt.Axis(tickCount=5, format=".4~g", grid=True)
        if layer.mark == "across":
            amount = alt.X(f"{layer.x}:Q", title=picture.x_title, axis=axis)
            return base.mark_bar(cornerRadiusEnd=2).encode(x=amount, y=names, color=colour, tooltip=tips)
        bars = any(other.mark == "across" for other in picture.layers)
        away = alt.Scale(type="log") if picture.x_log else alt.Scale(zero=bars)
        whole = base.encode(y=names, color=alt.value("currentColor") if bars else colour, tooltip=tips)
        line = whole.mark_rule(strokeWidth=2).encode(
            x=alt.X(f"{layer.low}:Q", title=picture.x_title, axis=axis, scale=away), x2=f"{layer.high}:Q"
        )
        if bars:
            return line
        return line + whole.mark_point(filled=True, size=60, opacity=1).encode(x=alt.X(f"{layer.x}:Q", scale=away))
    if layer.mark == "stack":
        series = _series(picture)
        stacked = [{**row, "_place": series.index(str(row[layer.series or ""]))} for row in layer.rows]
        y = alt.Y(f"{layer.y}:Q", title=picture.y_title, stack="zero", scale=alt.Scale(domain=[0, 1], clamp=True))
        return (
            alt.Chart(alt.InlineData(values=stacked))
            .mark_area(opacity=0.9)
            .encode(x=x, y=y, color=colour, order=alt.Order("_place:Q"), tooltip=tips)
        )
    if layer.mark == "band":
        y = _quantitative(alt, alt.Y, layer.low, picture.y_title, picture.y_log, picture.y_zero)
        return base.mark_area(opacity=0.18).encode(x=x, y=y, y2=alt.Y2(layer.high), color=colour)
    if layer.mark == "heat":
        colours = alt.Color(
            f"{layer.value}:Q",
            scale=alt.Scale(scheme="viridis"),
            legend=alt.Legend(title=picture.legend or layer.value, gradientLength=160, orient="right"),
        )
        return base.mark_rect().encode(
            x=alt.X(f"{layer.x}:O", title=picture.x_title, axis=alt.Axis(labelOverlap=True)),
            y=alt.Y(f"{layer.y}:O", title=picture.y_title, sort="descending", axis=alt.Axis(labelOverlap=True)),
            color=colours,
            tooltip=tips,
        )
    if layer.mark == "rule":
        y = _quantitative(alt, alt.Y, layer.y, picture.y_title, picture.y_log)
        rule = base.mark_rule(strokeDash=[6, 4], strokeWidth=1.5).encode(
            y=y, color=alt.value("currentColor"), tooltip=tips
        )
        text = base.mark_text(align="left", baseline="bottom", dx=4, dy=-3, fontSize=11).encode(
            y=y, x=alt.value(0), text="label:N", color=alt.value("currentColor")
        )
        return rule + text
    # "bound"
    detail = {"detail": alt.Detail(f"{layer.series}:N")} if layer.series is not None else {}
    return base.mark_line(strokeDash=[6, 4], strokeWidth=1.8, opacity=0.75).encode(
        x=x, y=y, color=alt.value("currentColor"), tooltip=tips, **detail
    )


def _drawable(picture: Picture, layer: Layer) -> list[Row]:
    """The rows that have a place: a logarithmic axis has none for zero, and one such row would empty the picture."""
    logs = [name for name, log in ((layer.x, picture.x_log), (layer.y, picture.y_log)) if log]
    return [row for row in layer.rows if all(row.get(name, 1.0) > 0.0 for name in logs)]


def _axes(alt: Any, picture: Picture, layer: Layer) -> tuple[Any, Any]:
    if picture.x_kind == "quantitative":
        x = _quantitative(alt, alt.X, layer.x, picture.x_title, picture.x_log)
    elif picture.x_kind == "temporal":
        x = alt.X(f"{layer.x}:T", title=picture.x_title, axis=alt.Axis(labelOverlap=True, tickCount=6))
    else:
        x = alt.X(
            f"{layer.x}:{picture.x_kind[0].upper()}",
            title=picture.x_title,
            sort=list(picture.order) if picture.order else None,
            axis=alt.Axis(labelLimit=190, labelOverlap=False),
        )
    return x, _quantitative(alt, alt.Y, layer.y, picture.y_title, picture.y_log, picture.y_zero)


def _quantitative(alt: Any, channel: Any, name: str, title: str, log: bool, from_zero: bool = True) -> Any:
    zero = channel is alt.Y and not log and from_zero
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=zero, nice=True)
    axis = alt.Axis(tickCount=6, format=".6~g", grid=channel is alt.Y)
    return channel(f"{name}:Q", title=title, scale=scale, axis=axis)


def _fields(layer: Layer) -> list[str]:
    return [name for name in layer.rows[0] if not name.startswith("_")] if layer.rows else []


def _numeric(layer: Layer, name: str) -> bool:
    return all(isinstance(row.get(name), (int, float)) for row in layer.rows)


def _format(layer: Layer, name: str) -> dict[str, str]:
    return {"format": ".4~g"} if _numeric(layer, name) else {}


#: Lines whose ends differ by less than this share of the largest look like one: some five points of a picture's height.
NEAR = 0.02


def coincide(ends: Sequence[float]) -> bool:
    """Whether two of the lines, drawn from 0, end so near to each other that they look like one.

    >>> coincide([10.0, 10.5, 40.0]), coincide([10.0, 12.0, 40.0]), coincide([7.0])
    (True, False, False)
    """
    ordered = sorted(ends)
    height = max([0.0, *ordered]) - min([0.0, *ordered])
    return any(b - a <= NEAR * height for a, b in pairwise(ordered))


def ends(rows: Sequence[Row], name: str, series: str | None = None) -> tuple[Layer, ...]:
    """The ends as layers over `name`, from rows that have `regret`, `low` and `high`.

    Dots keep apart what differs, on an axis of their own; but where lines coincide their ends are to be compared with
    each other from 0 on, and bars do that.
    """
    whiskers = Layer("spans", tuple(rows), x="regret", y=name, series=series)
    if not coincide([float(row["regret"]) for row in rows]):
        return (whiskers,)
    return Layer("across", tuple(rows), x="regret", y=name, series=series), whiskers


def how(rows: Sequence[Row]) -> str:
    """What is said of the choice, after a title."""
    return " (bars, since lines coincide)" if coincide([float(row["regret"]) for row in rows]) else ""
