"""No code for newer machines is outside its namespace; `.ci/engine` checks the objects of the build."""

import importlib.util
import platform
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "engine" / "tools" / "leaks.py"
spec = importlib.util.spec_from_file_location("leaks", SCRIPT)
leaks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(leaks)

WITHIN = """
0000000000000000 W _ZN2hn2v310whole_rowsERNS_10CombineJobEll
0000000000000000 D _ZN2hn2v37combineE
0000000000000000 u _ZN2hn6tables9logarithmE
0000000000000000 W _ZNK2hn2v314AdaHedgeRounds3farEdd
0000000000000000 W _ZZN2hn2v38meet_rowEPdPKdldS3_ddENKUlllE_clEll
0000000000000000 t _ZNSt6vectorIdE4sizeEv
"""


def test_local_symbols_and_tables_are_not_leaks():
    assert leaks.leaks(WITHIN) == []


def test_control_leaked_function_is_reported():
    """The control. The first function is a real case: a copy of a run, compiled with AVX2, for every machine."""
    outside = ["_ZN2hn3Run4copyERKNS_5SetupERKS0_", "_ZNSt6vectorIdE4sizeEv", "_ZN2hn4base4drawEv", "memset"]
    listing = WITHIN + "".join(f"0000000000000000 {kind} {name}\n" for kind, name in zip("WWTi", outside, strict=True))
    assert leaks.leaks(listing) == outside


def test_builds_of_this_checkout_have_no_leaks():
    """If there is no build (an installed wheel), `.ci/engine` has checked it."""
    if platform.machine() == "x86_64" and shutil.which("nm"):
        builds = [ROOT / "build" / name for name in ("editable", "quick")]
        assert [leaks.main(str(folder)) for folder in builds if folder.exists()] == [None] * sum(
            map(Path.exists, builds)
        )


def test_folder_without_objects_is_an_error(tmp_path):
    assert "no object files" in leaks.main(str(tmp_path))
