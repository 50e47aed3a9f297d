"""Simulate a power cut of a file: all synced bytes remain, and of the other bytes some, none, or different ones."""

from __future__ import annotations

import random
from pathlib import Path


def cut(folder: Path, rng: random.Random) -> int:
    """Cut the power of the stores in a folder; return the number of bytes that were not certainly on the disk."""
    lost = 0
    for live in sorted(folder.glob("*.db*")):
        if live.suffix == ".synced" or live.name.endswith((".lock", "-shm")):
            continue
        synced = live.with_name(live.name + ".synced")
        if not synced.exists():
            continue
        now, sure = live.read_bytes(), synced.read_bytes()
        after, changed = _after(now, sure, rng)
        lost += changed
        live.write_bytes(after)
        synced.write_bytes(after)  # the content after the cut, which is on the disk
    for shared in folder.glob("*.db-shm"):
        shared.unlink()  # memory
    return lost


def _after(now: bytes, sure: bytes, rng: random.Random) -> tuple[bytes, int]:
    length = rng.randint(min(len(now), len(sure)), max(len(now), len(sure)))
    padded = [data.ljust(max(len(now), len(sure)), b"\0") for data in (now, sure)]
    out, changed = bytearray(padded[1]), 0
    at = 0
    while at < len(out):
        # Only bytes written since the last sync are uncertain: a write does not damage its neighbors.
        end = min(at + 512, len(out))
        if padded[0][at:end] != padded[1][at:end]:
            fate = rng.choice(("old", "new", "garbled"))
            for i in range(at, end):
                if padded[0][i] != padded[1][i]:
                    changed += 1
                    out[i] = {"old": padded[1][i], "new": padded[0][i], "garbled": rng.randrange(256)}[fate]
        at = end
    return bytes(out[:length]), changed
