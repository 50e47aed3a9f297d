"""Charts that show themselves in a notebook without a network: as a picture, not by scripts from elsewhere."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hannan import extras


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
