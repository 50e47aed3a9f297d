"""The cache of machine code: only of a folder of this user alone, and thrown away when it is damaged."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hannan.kernels import compile as compiling

CODE = """
import sys, numba, numpy as np
numba.config.CACHE_DIR = sys.argv[1]
from hannan.kernels import compile as compiling
from hannan.kernels.compile import kernel, smoothing_pointer

@kernel
def twice(x):
    return 2.0 * x

def smoothing(pointer, size, n, scale, changed):
    return scale

print(twice(4.0), bool(smoothing_pointer(smoothing).address))
"""


def test_the_fallback_folder_is_of_this_user_alone(tmp_path):
    user, folder = os.getuid(), tmp_path / "hannan-cache"
    assert compiling.private(str(folder), user) == str(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert compiling.private(str(folder), user) == str(folder)
    folder.chmod(0o777)
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(tmp_path)
    file.write_text("")
    # Writable by others, a link, no folder, somebody else's: a fresh one is made.
    for planted, owner in ((folder, user), (link, user), (file, user), (tmp_path / "other", user + 1)):
        fresh = Path(compiling.private(str(planted), owner))
        assert fresh != planted
        assert stat.S_IMODE(fresh.stat().st_mode) == 0o700
        fresh.rmdir()


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_a_damaged_cache_is_compiled_again(ending, tmp_path):
    script, cache = tmp_path / "kernels_of_test.py", tmp_path / "cache"
    script.write_text(CODE)
    cache.mkdir()

    def run():
        return subprocess.run([sys.executable, str(script), str(cache)], capture_output=True, text=True, check=False)

    assert run().stdout == "8.0 True\n"
    damaged = [path for path in cache.rglob(f"*{ending}") if "kernels_of_test" in path.name]
    assert len(damaged) == 2
    for path in damaged:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for _ in range(2):
        done = run()
        assert done.stdout == "8.0 True\n", done.stderr
