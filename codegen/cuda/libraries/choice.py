"""A library computes a step if it is installed, takes the layout, and is faster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from typing import Any

from autojit.codegen.cuda.device_program.calls import LibraryCall
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.ir.pass_manager import remarks

from . import factors, spectral
from .cost import Seconds, of_factorization, of_product
from .finding import installing
from .layouts import product_call
from .plans import TITLES, Plan, Work
from .prototypes import LETTERS

_PLANS: dict[str, Callable[[Plan], None]] = {
    "cholesky": factors.cholesky,
    "cholesky_tangent": factors.cholesky_tangent,
    "cholesky_cotangent": factors.cholesky_cotangent,
    "lu": factors.lu,
    "solve": factors.solve,
    "triangular_solve": factors.triangular_solve,
    "qr": factors.qr,
    "eigh": spectral.eigh,
    "eig": spectral.eig,
    "svd": spectral.svd,
    "pinv": spectral.pseudo_inverse,
    "fourier": spectral.fourier,
}
#: The libraries that a step needs if these are not cuSOLVER alone.
_NEEDS = {
    "triangular_solve": ("cublas",), "cholesky_tangent": ("cublas",),
    "cholesky_cotangent": ("cublas",), "fourier": ("cufft",),
    "eig": ("cusolver", "cusolverEig"),
}  # fmt: skip


def for_product(
    p: MatrixProduct, name: str, installed: Container[str], processors: int, tile: int
) -> LibraryCall | None:
    """A product as a call of cuBLASLt, or None for our own kernel."""
    call = product_call(p, name)
    if call is None:
        return None
    seconds = of_product(p, processors, tile)
    if not seconds.prefers_library or not _has(("cublasLt",), installed, p, seconds):
        return None
    return call


def for_factorization(
    s: Factorization, name: str, installed: Container[str], processors: int, threads: int
) -> list[Work] | None:
    """Linear algebra as loops and calls, or None for loops alone."""
    plan = _PLANS.get(s.name)
    if plan is None or not _is_taken(s):
        return None
    needed = _NEEDS.get(s.name, ("cusolver",))
    if s.name == "eig":  # we have no kernel for it
        _require(needed, installed, s)
        return _planned(plan, s, name)
    calls = spectral.calls_of_transform(s) if s.name == "fourier" else None
    seconds = of_factorization(s, processors, threads, calls or 1)
    if not seconds.prefers_library or not _has(needed, installed, s, seconds):
        return None
    return _planned(plan, s, name)


def _planned(plan: Callable[[Plan], None], s: Factorization, name: str) -> list[Work]:
    made = Plan(s, name)
    plan(made)
    return made.work


def _require(needed: Collection[str], installed: Container[str], s: Factorization) -> None:
    for library in needed:
        if library not in installed:
            ops = [op for origin in s.origins for op in origin.ops()]
            raise TargetError(
                f"{s.name} cannot be compiled for CUDA without {TITLES[library]}, which "
                f"`{installing(library)}` installs",
                ops[0].source if ops else None,
            )


def _is_taken(s: Factorization) -> bool:
    if s.name == "fourier":
        return s.is_some and spectral.calls_of_transform(s) is not None
    sides = s.k if s.name in ("solve", "triangular_solve") else 1
    constant = not any(o.offset.variables() for o in (*s.inputs, *s.outputs))
    return bool(s.is_some and sides and constant and s.dtype in LETTERS)


def _has(needed: Collection[str], installed: Container[str], step: Any, seconds: Seconds) -> bool:
    """Whether the libraries are installed; add a remark if one is not."""
    missing = [library for library in needed if library not in installed]
    notes = remarks.current()
    if missing and notes is not None:
        ops = [op for origin in step.origins for op in origin.ops()]
        place = str(ops[0].source) if ops and ops[0].source else getattr(step, "name", "product")
        times = f"{1e6 * seconds.own:.0f} us, and {1e6 * seconds.library:.0f} us there"
        notes.add(
            "libraries", place,
            f"computed by kernels of ours, since {TITLES[missing[0]]} is not installed (estimated "
            f"for an A100: {times})", installing(missing[0]),
        )  # fmt: skip
    return not missing
