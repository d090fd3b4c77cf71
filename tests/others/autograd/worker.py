"""``python -m tests.others.autograd.worker CHECKOUT FOLDER tests|EXAMPLE``: one run in a process.

FOLDER holds a copy of autograd's tests or examples, which is run.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import types
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import autojit
from tests.others.autograd.stand_in import install

#: Images and labels of the data set that would be downloaded.
TRAINING, TEST, SIDE, CLASSES = 512, 64, 28, 10


def run_tests(folder: Path) -> int:
    sys.path.insert(0, str(folder))
    with autojit.disable_jit():  # many small functions, each called a few times
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-rfE", "--tb=line"]
        return pytest.main([*options, "-c", str(folder / "pytest.ini"), str(folder)])


def run_example(path: Path) -> int:
    _draw_nowhere()
    data = types.ModuleType("data_mnist")
    data.mnist = random_images  # type: ignore[attr-defined]
    sys.modules["data_mnist"] = data
    sys.path[:0] = [str(path.parent), str(path.parent.parent)]
    os.chdir(path.parent)
    runpy.run_path(str(path), run_name="__main__")
    return 0


def random_images() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    made: list[np.ndarray] = []
    for n in (TRAINING, TEST):
        made.append(rng.integers(0, 256, (n, SIDE, SIDE), dtype=np.uint8))
        made.append(rng.integers(0, CLASSES, n, dtype=np.uint8))
    return tuple(made)


def _draw_nowhere() -> None:
    if importlib.util.find_spec("matplotlib"):
        os.environ["MPLBACKEND"] = "Agg"
        return
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.image", "matplotlib.cm"):
        sys.modules[name] = MagicMock()
    plots: Any = sys.modules["matplotlib.pyplot"]
    sys.modules["matplotlib"].pyplot = plots  # type: ignore[attr-defined]
    plots.imread = lambda path: image(Path(path).stem)


def image(name: str) -> np.ndarray:
    """Images of the sizes that the simulations of fluids read."""
    rng = np.random.default_rng(0)
    return rng.uniform(size=(40, 40) if name in ("skull", "peace") else (20, 20, 4))


if __name__ == "__main__":
    checkout, folder, what = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    install(checkout)
    sys.exit(run_tests(folder) if what == "tests" else run_example(folder / what))
