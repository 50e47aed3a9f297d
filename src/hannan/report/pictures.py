"""Pictures as data: layers of marks over rows, which become Altair charts when a page is written."""

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
    """Return Vega, Vega-Lite and vega-embed as a script, which is cached in the user's cache folder if possible."""
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


#: Last line of a complete file.
_END = "\n// end of bundle\n"


def _made() -> str:
    return str(import_module("vl_convert").javascript_bundle()) + _END


def _folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "hannan"


def _keep(path: Path, text: str) -> None:
    """Write the file atomically; an unwritable folder is not an error."""
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
    """Return the module altair, or raise an error that names the package to install."""
    try:
        import altair
    except ImportError:
        raise ModuleNotFoundError(f"plots need altair: {extras.command('report')}") from None
    return altair


def offline(chart: Any) -> Any:
    """Return an Altair chart that notebooks display as SVG, drawn by vl-convert in the kernel.

    By default Altair displays charts with a script that the browser downloads. A renderer that the user has enabled,
    such as `altair.renderers.enable("mimetype")`, takes precedence.

    >>> import altair as alt
    >>> chart = offline(alt.layer(alt.Chart(alt.Data(values=[{"x": 1}])).mark_bar().encode(x="x:Q")))
    >>> isinstance(chart, alt.LayerChart), list(chart.properties(width=99)._repr_mimebundle_())
    (True, ['image/svg+xml'])
    """
    kind: Any = type(chart)
    object.__setattr__(chart, "__class__", _shown_offline(kind))  # Altair's setter treats every name as a keyword.
    return chart


#: Text is measured here but drawn by the viewer, so fonts of equal width are used, with padding for wider fonts.
_FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
_ROOM = {"left": 24, "right": 24, "top": 5, "bottom": 5}


@lru_cache
def _shown_offline(kind: type[Any]) -> type[Any]:
    """Return a subclass of a chart class that displays charts without a network."""

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

#: Colors of series with enough contrast in light and dark mode; the first is for the main series.
PALETTE = ("#2f7ed8", "#e0702f", "#2fa37c", "#b35cc4", "#c39a1b", "#d9536f", "#4fb0c6", "#8d939c")


#: Dash patterns of lines; 3 patterns and 8 colors give 24 styles, and neighbors differ in both.
DASHES = ((1, 0), (6, 2), (2, 2))
STYLES = len(PALETTE) * len(DASHES)


def style(k: int) -> tuple[str, tuple[int, ...]]:
    """Return color and dash pattern of series k, for lines that differ in print too.

    >>> style(0), style(1), len({style(k) for k in range(STYLES)})
    (('#2f7ed8', (1, 0)), ('#e0702f', (6, 2)), 24)
    """
    return PALETTE[k % len(PALETTE)], DASHES[k % len(DASHES)]


@dataclass(frozen=True)
class Layer:
    """Marks of one kind over rows of data.

    Parameters
    ----------
    mark : str
        - "line", "points": curves and points;
        - "bound": a dashed line for a theoretical value;
        - "band": an area between the fields `low` and `high`;
        - "bars", "across": vertical and horizontal bars;
        - "stack": stacked areas, the first series at the bottom;
        - "heat": a heat map of the field `value`;
        - "rule": a horizontal line at the `y` of its row, with the label of the row;
        - "spans": points with horizontal whiskers from `low` to `high`; over bars, whiskers only.
    rows : tuple of dict
        Data.
    x, y : str, optional
        Fields of the rows for the axes.
    series : str, optional
        Field by which the marks are colored.
    low, high : str, optional
        Fields for the ends of bands and whiskers.
    value : str, optional
        Field for the color of a heat map.
    group : str, optional
        Field that separates lines or bands of one color, which are not connected.
    """

    mark: Mark
    rows: tuple[Row, ...] = field(hash=False)
    x: str = "x"
    y: str = "y"
    series: str | None = None
    low: str = "low"
    high: str = "high"
    value: str = "value"
    group: str | None = None


@dataclass(frozen=True)
class Picture:
    """Layers over common axes, with alternative text.

    Parameters
    ----------
    title : str
        Title.
    x_title, y_title : str
        Titles of the axes.
    layers : tuple of Layer
        Layers, from back to front.
    alt : str
        Text that describes the picture where it cannot be seen.
    x_log, y_log : bool, default False
        Logarithmic axes.
    y_zero : bool, default True
        Start the vertical axis at 0.
    height : int, default 260
        Height in pixels.
    x_kind : {"quantitative", "nominal", "ordinal", "temporal"}
        Kind of the horizontal axis.
    order : tuple of str, optional
        Order of names on an axis.
    legend : str, optional
        Title of the legend of a heat map.
    dashed : bool, default False
        Give series of lines dash patterns in addition to colors.
    known : tuple of str, optional
        Names of all series, in the order of their colors, if several pictures share them.

    Examples
    --------
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
    y_zero: bool = True
    height: int = 260
    x_kind: Literal["quantitative", "nominal", "ordinal", "temporal"] = "quantitative"
    order: tuple[str, ...] = ()
    legend: str = ""
    dashed: bool = False
    known: tuple[str, ...] = ()

    def spec(self) -> dict[str, Any]:
        """Return the Vega-Lite specification."""
        return dict(self.chart().to_dict())

    def chart(self, width: int | str = "container") -> Any:
        """Return the Altair chart, with its title if `width` is a number of pixels."""
        alt, names = altair(), list(self.known) or _series(self)
        scale = alt.Scale(domain=names, range=[PALETTE[i % len(PALETTE)] for i in range(len(names))]) if names else None
        charts = [_layer(alt, self, layer, scale) for layer in self.layers]
        titled = {} if width == "container" else {"title": self.title}
        return offline(
            alt.layer(*charts)
            .properties(width=width, height=self.height, description=self.alt, **titled)
            .configure_view(stroke=None)
        )


def _series(picture: Picture) -> list[str]:
    """Return every series of every layer in order of appearance: each has one color in the whole picture."""
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
        # The page chooses the number of columns of the legend, because it depends on the width.
        symbols = {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 300} if picture.dashed else {}
        legend = alt.Legend(
            title=picture.legend or None,
            orient="top",
            direction="horizontal",
            symbolLimit=0,
            symbolOpacity=1.0,
            **symbols,
        )
        colour = alt.Color(f"{layer.series}:N", scale=scale, legend=legend)
    if layer.mark == "line":
        # Many points would hide the line; few points show where it was measured.
        dots = len(layer.rows) <= 60
        dashes = {}
        apart = {} if layer.group is None else {"detail": alt.Detail(f"{layer.group}:N")}
        if picture.dashed and layer.series is not None:
            names = list(picture.known) or _series(picture)
            patterns = alt.Scale(domain=names, range=[list(style(k)[1]) for k in range(len(names))])
            dashes = {"strokeDash": alt.StrokeDash(f"{layer.series}:N", scale=patterns, legend=legend)}
        return base.mark_line(point={"size": 28, "filled": True} if dots else False, strokeWidth=2).encode(
            x=x, y=y, color=colour, tooltip=tips, **dashes, **apart
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
        apart = {} if layer.group is None else {"detail": alt.Detail(f"{layer.group}:N")}
        return base.mark_area(opacity=0.18).encode(x=x, y=y, y2=alt.Y2(layer.high), color=colour, **apart)
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
    """Return the rows that can be drawn: on a logarithmic axis, rows with values <= 0 would empty the picture."""
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


#: Lines whose ends differ by less than this fraction of the largest value (about 5 pixels) look like one.
NEAR = 0.02


def coincide(ends: Sequence[float]) -> bool:
    """Return whether two of the lines, drawn from 0, end so close to each other that they look like one.

    >>> coincide([10.0, 10.5, 40.0]), coincide([10.0, 12.0, 40.0]), coincide([7.0])
    (True, False, False)
    """
    ordered = sorted(ends)
    height = max([0.0, *ordered]) - min([0.0, *ordered])
    return any(b - a <= NEAR * height for a, b in pairwise(ordered))


def ends(rows: Sequence[Row], name: str, series: str | None = None) -> tuple[Layer, ...]:
    """Return layers that compare final values over `name`, from rows with `regret`, `low` and `high`.

    Points with whiskers show differences best. If lines coincide, bars that start at 0 show that the values are close.
    """
    whiskers = Layer("spans", tuple(rows), x="regret", y=name, series=series)
    if not coincide([float(row["regret"]) for row in rows]):
        return (whiskers,)
    return Layer("across", tuple(rows), x="regret", y=name, series=series), whiskers


def how(rows: Sequence[Row]) -> str:
    """Return a note for the title if bars are used because lines coincide."""
    return " (bars, since lines coincide)" if coincide([float(row["regret"]) for row in rows]) else ""
