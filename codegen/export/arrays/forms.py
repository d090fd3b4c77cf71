"""The table of the form of each class of ops in NumPy.

A form returns the expression of the op's result, or writes statements and returns None. An op whose
class is not in the table is rejected, with its name and the user's line.
"""

from __future__ import annotations

from autojit.ir.linalg import cholesky, factorizations, fourier, order, spectral
from autojit.ir.ops import (
    checks,
    contract,
    elementwise,
    index,
    linear,
    move,
    reduce,
    shear,
    update,
)
from autojit.ir.regions import checkpoint, custom, implicit, scan, switch, while_
from autojit.ir.special.external import External

from . import elementwise as of_elements
from . import indexing as of_places
from . import linalg as of_matrices
from . import movement as of_axes
from . import regions as of_bodies
from .writer import Form

FORMS: dict[type, Form] = {
    elementwise.Elementwise: of_elements.elementwise,
    elementwise.Compare: of_elements.elementwise,
    elementwise.RealPart: of_elements.elementwise,
    elementwise.Select: of_elements.select,
    elementwise.MakeComplex: of_elements.make_complex,
    elementwise.Convert: of_elements.convert,
    elementwise.IntegerPower: of_elements.integer_power,
    checks.Ensure: of_elements.ensure,
    checks.Reported: of_elements.reported,
    External: of_elements.external,
    linear.Constant: of_axes.constant,
    linear.Iota: of_axes.iota,
    move.Broadcast: of_axes.broadcast,
    move.Reshape: of_axes.reshape,
    move.Transpose: of_axes.transpose,
    move.Slice: of_axes.slice_,
    move.Pad: of_axes.pad,
    move.Flip: of_axes.flip,
    move.Concatenate: of_axes.concatenate,
    shear.Windows: of_axes.windows,
    shear.Shear: of_axes.shear,
    reduce.Sum: of_axes.reduce,
    reduce.Product: of_axes.reduce,
    reduce.Extremum: of_axes.reduce,
    reduce.Idempotent: of_axes.reduce,
    index.Gather: of_places.gather,
    index.ScatterAdd: of_places.scatter_add,
    update.Update: of_places.update,
    update.Scatter: of_places.update_at,
    update.AddAt: of_places.update_at,
    contract.Dot: of_matrices.dot,
    cholesky.Cholesky: of_matrices.cholesky,
    cholesky.CholeskyTangent: of_matrices.cholesky_derivative,
    cholesky.CholeskyCotangent: of_matrices.cholesky_derivative,
    factorizations.TriangularSolve: of_matrices.triangular_solve,
    factorizations.LU: of_matrices.lu,
    factorizations.Solve: of_matrices.solve,
    factorizations.Permutation: of_matrices.permutation,
    spectral.Eig: of_matrices.eig,
    spectral.Eigh: of_matrices.eigh,
    spectral.QR: of_matrices.qr,
    spectral.SVD: of_matrices.svd,
    spectral.PseudoInverse: of_matrices.pinv,
    fourier.Fourier: of_matrices.fourier,
    order.Argsort: of_matrices.argsort,
    order.Sort: of_matrices.sort,
    scan.Scan: of_bodies.scan,
    while_.While: of_bodies.while_,
    switch.Switch: of_bodies.switch,
    checkpoint.Checkpoint: of_bodies.called,
    custom.CustomJVP: of_bodies.called,
    custom.CustomVJP: of_bodies.called,
    implicit.LinearSolve: of_bodies.called,
    implicit.Root: of_bodies.called,
}
#: Ops that cannot be written, and the reasons.
REFUSED = {
    "callback": "it calls a function of this Python process, which a module does not have",
    "custom_linear": "only its transpose is known, so it has no value",
    "order_statistics": "it occurs only in scheduled programs",
}
