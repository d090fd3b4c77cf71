"""Arrays from files as arguments: ``@x.npy``, ``@all.npz:name``, ``@table.csv:column``."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from autojit.spelling import closest

from .failures import Failure

SUFFIXES = (".npy", ".npz", ".csv")


def read(reference: str) -> np.ndarray:
    """The array that ``@path`` or ``@path:key`` refers to.

    A .npy file holds one array, a .npz file several named arrays.  A .csv file holds numbers
    separated by commas, row by row, optionally below a line of names: it is an array of shape
    (rows, columns), and ``:name`` or ``:number`` selects a column, of shape (rows,).
    """
    path, key = _path_and_key(reference[1:])
    readers = dict(zip(SUFFIXES, (_from_npy, _from_npz, _from_csv), strict=True))
    if path.suffix.lower() not in readers:
        raise Failure(
            f"argument {reference!r}: arrays can only be read from .npy, .npz or .csv files"
        )
    try:
        array = readers[path.suffix.lower()](path, key, reference)
    except OSError as error:
        raise Failure(f"argument {reference!r}: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Failure(f"argument {reference!r}: {path.name} cannot be read: {words}") from None
    if array.dtype.kind not in "biufc":
        raise Failure(
            f"argument {reference!r} holds {array.dtype.name}; arguments are arrays of numbers"
        )
    return array


def _path_and_key(text: str) -> tuple[Path, str | None]:
    """A path and the key after its last colon, unless the colon is part of the path."""
    path, colon, key = text.rpartition(":")
    if not colon or not Path(path).suffix or Path(text).exists():
        return Path(text).expanduser(), None
    return Path(path).expanduser(), key


def _from_npy(path: Path, key: str | None, reference: str) -> np.ndarray:
    if key is not None:
        raise Failure(f"argument {reference!r}: a file .npy holds one array: write @{path}")
    found: np.ndarray = np.load(path, allow_pickle=False)
    return found


def _from_npz(path: Path, key: str | None, reference: str) -> np.ndarray:
    with np.load(path, allow_pickle=False) as found:
        names = list(found)
        if key is None and len(names) == 1:
            key = names[0]
        if key not in names:
            shown = ", ".join(f"@{path}:{name}" for name in names[:8])
            close = closest(key, names) if key is not None else ""
            raise Failure(f"argument {reference!r}: name one of its arrays.{close} Arrays: {shown}")
        array: np.ndarray = found[key]
        return array


def _from_csv(path: Path, key: str | None, reference: str) -> np.ndarray:
    with path.open(encoding="utf-8-sig") as lines:
        first = lines.readline()
    names = [name.strip().strip('"') for name in first.split(",")]
    has_names = not all(map(_is_number, names))
    table: np.ndarray = np.loadtxt(
        path, delimiter=",", skiprows=int(has_names), ndmin=2, encoding="utf-8-sig"
    )
    if key is None:
        return table
    columns = {name: k for k, name in enumerate(names)} if has_names else {}
    columns.update({str(k): k for k in range(table.shape[1]) if str(k) not in columns})
    if key not in columns:
        known = names if has_names else [f"0 to {table.shape[1] - 1}"]
        raise Failure(
            f"argument {reference!r}: there is no column {key!r}.{closest(key, columns)} "
            f"Columns: {', '.join(known)}"
        )
    return table[:, columns[key]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
