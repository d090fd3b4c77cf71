"""Machine-readable results: JSON, with numbers that JSON lacks as strings."""

from __future__ import annotations

import json
import math
from typing import Any

from autojit.spelling import closest

from .failures import Failure
from .streams import results


def check_format(format: str, formats: tuple[str, ...] = ("text", "json")) -> None:
    """Raise unless ``--format`` is one of the formats."""
    if format not in formats:
        known = f"{', '.join(formats[:-1])} or {formats[-1]}"
        meant = closest(format, formats)
        raise Failure(f"--format must be {known}; got {format!r}{'.' if meant else ''}{meant}")


def give_json(found: Any) -> None:
    """Print an object as JSON."""
    results().write(json_text(found) + "\n")


def json_text(found: Any) -> str:
    """An object as JSON; arrays become lists, and values that JSON lacks become strings.

    >>> print(json_text({"x": np.array([1.0, np.inf]), "z": 1 + 2j}))
    {
      "x": [
        1.0,
        "inf"
      ],
      "z": "(1+2j)"
    }
    """
    return json.dumps(_plain(found), indent=2, allow_nan=False)


def _plain(found: Any) -> Any:
    import numpy as np  # imported late: completion only reads declarations

    if isinstance(found, dict):
        return {str(key): _plain(value) for key, value in found.items()}
    if isinstance(found, (np.ndarray, np.generic)):
        found = found.tolist()
    if isinstance(found, (list, tuple)):
        return [_plain(item) for item in found]
    if isinstance(found, float) and not math.isfinite(found):
        return repr(found)
    if found is None or isinstance(found, (bool, int, float)):
        return found
    return str(found)
