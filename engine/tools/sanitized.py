"""Check that the engine was built with sanitizers; otherwise the sanitizer tests would check nothing."""

import sys
from pathlib import Path

from hannan import _engine

if __name__ == "__main__":
    if b"__asan_report" not in Path(_engine.__file__).read_bytes():
        sys.exit(f"the engine must be built with sanitizers; got {_engine.__file__}")
