"""Whether the engine that this Python imports was built with sanitizers: else its tests would prove nothing."""

import sys
from pathlib import Path

from hannan import _engine

if __name__ == "__main__":
    if b"__asan_report" not in Path(_engine.__file__).read_bytes():
        sys.exit(f"the engine must be one with sanitizers; got {_engine.__file__}")
