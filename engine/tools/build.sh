#!/bin/sh
# Build what has changed and put the module beside the Python source: quick, for development.
set -e
cd "$(dirname "$0")/../.."
PATH="$PWD/.venv/bin:$PATH"
B=build/quick
[ -f $B/build.ninja ] || cmake -S . -B $B -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
    -Dnanobind_DIR="$(.venv/bin/python -m nanobind --cmake_dir)" >/dev/null
cmake --build $B "$@"
for built in $B/_engine*.so; do cp "$built" src/hannan/.building && mv src/hannan/.building "src/hannan/$(basename "$built")"; done
