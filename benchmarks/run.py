"""`make bench`: every benchmark, and `benchmarks/results.md`.

python benchmarks/run.py [--only SECTION] [--quick] [--cpu] [--out FILE]
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

# Before numpy is imported: its threads would inflate the rivals' times, and ours.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

HERE = Path(__file__).resolve().parent
SECTIONS = {
    "reach": "What is to be reached",
    "games": "Whole games",
    "stepping": "One step at a time",
    "fleet": "Many learners",
    "gradient": "The exact play",
    "rivals": "The rivals, kind by kind",
    "startup": "Start-up and memory",
    "convex": "Convex optimisation",
    "combining": "Tables of forecasts",
    "experiments": "Comparisons and sweeps",
    "slates": "Slates",
    "serving": "Decisions that survive",
}


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen sections, print each, write the file."""
    parser = argparse.ArgumentParser(description="Time hannan against its peers; ratios are the result.")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="one section; may be repeated")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repeats")
    parser.add_argument("--cpu", action="store_true", help="CPU time instead of wall time, if busy")
    parser.add_argument("--out", type=Path, help="default: benchmarks/results.md, if all is run in full")
    chosen = parser.parse_args(arguments)
    sys.path.insert(0, str(HERE))
    from timing import machine, use_cpu_time

    if chosen.cpu:
        use_cpu_time()
    introduction = "Written by `make bench`. Ratios within one run hold; absolute times move."
    parts = ["# Benchmarks", introduction, machine()]
    print("\n\n".join(parts), flush=True)
    for name in chosen.only or SECTIONS:
        start = time.perf_counter()
        body = importlib.import_module(name).run(quick=chosen.quick)
        part = f"## {SECTIONS[name]}\n\n{body}\n\n({time.perf_counter() - start:.0f} s)"
        print(f"\n{part}", flush=True)
        parts.append(part)
    out = chosen.out
    if out is None and not (chosen.quick or chosen.only):
        out = HERE / "results.md"
    if out is not None:
        out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        print(f"\nwritten to {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
