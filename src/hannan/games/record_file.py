"""The arrays of a saved record, read without trust: a small file cannot ask for much memory, and no object is made."""

from __future__ import annotations

import io
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan.saving import files

if TYPE_CHECKING:
    import zipfile


def arrays_of(path: str | os.PathLike[str], known: tuple[str, ...]) -> dict[str, Any]:
    """The arrays of an .npz file by name; each has the size that its header says, or is refused before it is made."""
    import zipfile  # not for a game

    found: dict[str, Any] = {}
    with zipfile.ZipFile(io.BytesIO(files.read_ordinary(path, "a record"))) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name not in known or name in found:
                raise ValueError(f"its arrays must be some of {', '.join(known)}, once each; got {name[:80]!r}")
            found[name] = _array(archive, member, name)
    return found


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> Any:
    with archive.open(member) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"its {name} must be an array of NumPy's format 1.0")
        shape, columns_first, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.hasobject or dtype.kind not in "iufb":
            raise ValueError(f"its {name} must be numbers; got {dtype}")
        size = math.prod(shape) * dtype.itemsize
        if min((0, *shape)) < 0 or file.tell() + size != member.file_size or size > files.LARGEST:
            raise ValueError(f"its {name} must have the size that it says, {shape}; it has not")
        data = file.read(size)
    if len(data) != size:
        raise ValueError(f"its {name} must have the size that it says, {shape}; it is shorter")
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if columns_first else "C").copy()
