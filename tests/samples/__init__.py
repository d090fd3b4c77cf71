"""The table of samples: every covered NumPy function and op, with arguments.

A row holds a function in plain NumPy, and how its arguments are drawn. Tests use it for values,
first and second derivatives, both modes, batching, and every target. Whoever adds an op or a
function adds a row here; `test_ops.py` reports a missing row.

Domains exclude kinks and poles, so that central differences are meaningful.
"""

from __future__ import annotations

from tests.samples.assignment import ASSIGNMENT
from tests.samples.calls import CALLS
from tests.samples.control import CONTROL
from tests.samples.elementwise import ARITHMETIC, BINARY, CHOICES, COMPLEX, UNARY
from tests.samples.fft import FOURIER
from tests.samples.formulas import FORMULAS
from tests.samples.kinds import Sample
from tests.samples.linalg import FACTORS
from tests.samples.movement import INDEXING, MOVEMENT
from tests.samples.products import CONTRACTIONS
from tests.samples.reductions import REDUCTIONS
from tests.samples.sorting import SORTING
from tests.samples.special import SPECIAL
from tests.samples.statistics import PARTS, POLYNOMIALS, STATISTICS
from tests.samples.steps import STEPS

__all__ = ["SAMPLES", "Sample"]

SAMPLES = [
    *UNARY, *BINARY, *COMPLEX, *ARITHMETIC, *CHOICES, *STEPS, *REDUCTIONS, *MOVEMENT, *INDEXING,
    *ASSIGNMENT, *CONTRACTIONS, *FACTORS, *FOURIER, *SORTING, *FORMULAS, *CALLS,
    *CONTROL, *SPECIAL, *STATISTICS, *POLYNOMIALS, *PARTS,
]  # fmt: skip
