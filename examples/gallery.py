"""The pictures of the gallery: `python examples/gallery.py` draws docs/gallery/*.svg anew."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import approval
import electricity
import flights
import open_bandit
import stocks
from real_data import NotInstalled

from hannan.report import Picture

EXAMPLES = {"electricity": electricity, "approval": approval, "flights": flights, "stocks": stocks,
            "open_bandit": open_bandit}  # fmt: skip


def svg(picture: Picture) -> str:
    """The picture as it stands on a page, 720 wide, on white."""
    import vl_convert

    spec = picture.spec() | {"width": 640, "background": "white"}
    return str(vl_convert.vegalite_to_svg(spec))


def main(folder: Path) -> None:
    """Draw what can be drawn; a data set that is not installed is skipped by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, example in EXAMPLES.items():
        try:
            picture = example.picture()
        except NotInstalled as missing:
            print(f"{name}: skipped: {missing}")
            continue
        (folder / f"{name}.svg").write_text(svg(picture), encoding="utf-8")
        print(f"{name}: {picture.alt}")


if __name__ == "__main__":
    main(Path(__file__).resolve().parent.parent / "docs" / "gallery")
