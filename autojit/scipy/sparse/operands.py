"""Methods of SciPy's own sparse matrices and linear operators with traced operands."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.scipy.arguments import refused
from autojit.scipy.registry import answers, original
from autojit.tracing.created_arrays import is_traced

from .matrices import Sparse, as_sparse

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "__add__": operator.add, "__radd__": operator.add, "__sub__": operator.sub,
    "__rsub__": lambda a, b: -a + b, "__truediv__": operator.truediv,
    "multiply": Sparse.multiply, "_matmul_dispatch": Sparse.dot,
}  # fmt: skip


def _product_from_the_right(a: Sparse, x: Any) -> Any:
    return a.multiply(x) if np.ndim(x) == 0 else x @ a


def _answer(name: str, method: Callable[[Any, Any], Any]) -> None:
    """Register a method of all formats.

    It is always registered, because ``A.data = …`` may have made the entries traced although no
    argument is.
    """
    for format in ("csr", "coo", "dia", "dok", "lil"):
        for kind in ("array", "matrix"):
            _register(f"scipy.sparse.{format}_{kind}.{name}", method)


def _register(theirs: str, method: Callable[[Any, Any], Any]) -> None:
    def answer(self: Any, other: Any) -> Any:
        if not is_traced((other, getattr(self, "data", None))):
            return original(theirs)(self, other)
        return method(as_sparse(self), other)

    answers(theirs, always=True)(answer)


for _name, _method in _OPERATORS.items():
    _answer(_name, _method)
for _kind in ("array", "matrix"):  # COO has its own, for more axes
    _register(f"scipy.sparse.coo_{_kind}.dot", Sparse.dot)
_answer("_rmatmul_dispatch", _product_from_the_right)


# -- linear operators --------------------------------------------------------------------


def _answer_product(name: str) -> None:
    """Register ``matvec`` or a similar method, without its conversions to NumPy arrays.

    SciPy converts the operand and the result of the user's function, which may close over traced
    arrays.
    """

    def product(self: Any, x: Any) -> Any:
        if not is_traced(x):
            x = np.asarray(x)
        made = getattr(self, f"_{name}")(x)
        return np.reshape(made, (-1, *np.shape(x)[1:]))

    def of_vector(self: Any, x: Any) -> Any:
        return product(self, x)

    def of_matrix(self: Any, X: Any) -> Any:
        return product(self, X)

    answer = of_matrix if name.endswith("mat") else of_vector
    answers(f"scipy.sparse.linalg.LinearOperator.{name}", always=True)(answer)


for _name in ("matvec", "rmatvec", "matmat", "rmatmat"):
    _answer_product(_name)


@answers("scipy.sparse.linalg.LinearOperator._init_dtype", always=True)
def _dtype_of_operator(self: Any) -> None:
    if self.dtype is None:
        self.dtype = np.result_type(self.matvec(np.zeros(self.shape[-1], np.int8)))


@answers("scipy.sparse.linalg.LinearOperator.dot", always=True)
def _operator_product(self: Any, x: Any) -> Any:
    if not is_traced(x) and (np.ndim(x) == 0 or hasattr(x, "matvec")):
        return original("scipy.sparse.linalg.LinearOperator.dot")(self, x)
    if np.ndim(x) == 0:
        raise refused("a linear operator times a number", "multiply its result:\n    k * (A @ x)")
    return self.matvec(x) if np.ndim(x) == 1 else self.matmat(x)
