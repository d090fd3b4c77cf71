"""The probes of ``autojit doctor``.  Each proves its statement by running something."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core import machine


class Finding(NamedTuple):
    """``state`` is ok, failed or absent (not required); ``name`` replaces the probe's name."""

    state: str
    words: str
    name: str = ""


Probe = Callable[[], "Finding | list[Finding]"]

_PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "optree")


def versions() -> Finding:
    """Import the packages, and report their versions."""
    found = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        importlib.import_module(name)
        found.append(f"{name} {importlib.metadata.version(name)}")
    return Finding("ok", ", ".join(found))


def processor() -> Finding:
    """The processor's own name, and LLVM's name for it."""
    import llvmlite.binding as llvm

    usable = machine.current().processors
    return Finding(
        "ok", f"{_model_name()} ({llvm.get_host_cpu_name()}), {usable} logical CPUs usable"
    )


def model() -> Finding:
    """The machine model that decisions depend on: caches and vector registers, and its source."""
    return Finding("ok", machine.current().description())


def _model_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1) if found else platform.processor() or platform.machine()


def threads() -> Finding:
    """Start Numba's threading layer; report its name and how many threads took part."""
    import numba

    @numba.njit(parallel=True)
    def who(seen: Any) -> None:
        for i in numba.prange(len(seen)):
            seen[i] = numba.get_thread_id()

    seen = np.full(64 * numba.get_num_threads(), -1)
    who(seen)
    took_part, layer = len(set(seen.tolist())), numba.threading_layer()
    words = f"layer {layer}, {took_part} of {numba.get_num_threads()} threads took part"
    if layer == "workqueue":
        return Finding("absent", f"{words}; it is not safe to use from two Python threads")
    return Finding("ok" if seen.min() >= 0 else "failed", words)


#: The register names of the vector units, widest first, and their width in bits.
_REGISTERS = ((r"%zmm\d+", "zmm", 512), (r"%ymm\d+", "ymm", 256), (r"%xmm\d+", "xmm", 128),
              (r"\bz\d+\.d\b", "SVE", 0), (r"\bv\d+\.2d\b", "NEON", 128))  # fmt: skip


def vectors() -> Finding:
    """The widest registers in the code of a small elementwise loop with right results."""
    from autojit import jit

    def f(x: Any, y: Any) -> Any:
        return x * y + x

    compiled, x, y = jit(f), np.linspace(0.0, 1.0, 1000), np.linspace(1.0, 2.0, 1000)
    if not np.allclose(compiled(x, y), f(x, y), rtol=1e-14):
        return Finding("failed", "x * y + x, compiled, is wrong")
    found = widest_registers(compiled.lower(x, y).text("asm"))
    return found or Finding("absent", "a loop over f64[1000] compiles to scalar instructions")


def widest_registers(assembly: str) -> Finding | None:
    """The widest vector registers that packed float64 arithmetic uses in an assembly text."""
    packed = re.findall(r"^\s*(?:v?(?:mul|add|fmadd\d*)pd|fmla|fadd|fmul)\s.*$", assembly, re.M)
    for pattern, name, bits in _REGISTERS:
        if any(re.search(pattern, line) for line in packed):
            width = f"{bits} bits, {bits // 64} float64 at a time" if bits else "scalable"
            return Finding("ok", f"{width} ({name} registers in compiled code)")
    return None


def blas() -> Finding:
    """A compiled matrix product compared with NumPy's, and the library that computed it."""
    from autojit import jit

    def product(x: Any, y: Any) -> Any:
        return x @ y

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((96, 64)), rng.standard_normal((64, 80))
    compiled = jit(product)
    error = float(np.max(np.abs(compiled(a, b) - a @ b)))
    used = compiled.lower(a, b).cost()["products"]
    words = f"{_blas_name('scipy')}; [96,64] @ [64,80] differs from NumPy's by {error:.1g}"
    if not used:
        return Finding("failed", f"the product was not computed by the BLAS ({words})")
    return Finding("ok" if error < 1e-12 else "failed", words)


def _blas_name(package: str) -> str:
    try:
        config = importlib.import_module(package).show_config(mode="dicts")
        found = config["Build Dependencies"]["blas"]
        return f"{found['name']} {found['version']} of {package}"
    except (KeyError, TypeError):
        return f"that of {package}"


#: Functions, and the intervals on which they are tested.
_FUNCTIONS: dict[str, tuple[float, float]] = {
    "exp": (-700, 700), "expm1": (-30, 30), "log": (1e-300, 1e300), "log1p": (-0.99, 1e3),
    "sin": (-100, 100), "cos": (-100, 100), "tan": (-100, 100), "tanh": (-20, 20),
    "arctan": (-50, 50), "sqrt": (0, 1e9),
}  # fmt: skip
_MOST_ULP = 4.0


def vector_math() -> Finding:
    """The largest error of compiled elementary functions, in units in the last place."""
    from autojit import jit

    errors = {}
    rng = np.random.default_rng(0)
    for name, (low, high) in _FUNCTIONS.items():
        f = getattr(np, name)
        x = rng.uniform(low, high, 4096)
        errors[name] = ulp_error(jit(f)(x), f(x.astype(np.longdouble)))
    worst = max(errors, key=lambda name: errors[name])
    words = ", ".join(f"{name} {error:.2f}" for name, error in errors.items())
    state = "ok" if errors[worst] <= _MOST_ULP else "failed"
    return Finding(state, f"at most {errors[worst]:.2f} ulp ({words})")


def ulp_error(got: np.ndarray, reference: np.ndarray) -> float:
    """The largest distance from the reference, in units in the last place of float64.

    >>> ulp_error(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 2.0**-51]))
    1.0
    """
    spacing = np.spacing(np.abs(reference).astype(np.float64))
    return float(np.max(np.abs(got - reference) / spacing))


def gradients() -> Finding:
    """Compiled first and second derivatives compared with central differences."""
    from autojit.testing import compare_grads

    def f(w: Any, x: Any) -> Any:
        return np.mean(np.tanh(x @ w) ** 2) + np.sum(np.exp(-w * w))

    rng = np.random.default_rng(0)
    point = (rng.standard_normal(3), rng.standard_normal((5, 3)))
    found = list(compare_grads(f, point, order=2))
    wrong = [c for c in found if not c.agrees]
    if wrong:
        return Finding("failed", wrong[0].report().splitlines()[0])
    largest = max(c.error for c in found)
    return Finding("ok", f"{len(found)} derivatives within {largest:.0e} of central differences")


def cuda() -> list[Finding]:
    """The extra package, the compilation to PTX, and the card."""
    try:
        version = importlib.metadata.version("numba-cuda")
    except importlib.metadata.PackageNotFoundError:
        return [Finding("absent", 'not installed: pip install "autojit[cuda]"')]
    found = [Finding("ok", f"numba-cuda {version}", "CUDA"), _ptx(), _card()]
    return found


def _ptx() -> Finding:
    from autojit import jit

    try:
        text = jit(np.sin).lower(np.ones(1000)).text("ptx")
    except Exception as error:
        # Without the toolkit's compiler the GPU cannot be used, but the rest still works.
        missing = type(error).__name__ in ("UnsupportedTargetError", "NvvmSupportError")
        first = (str(error) or type(error).__name__).splitlines()[0]
        return Finding("absent" if missing else "failed", f"no PTX: {first}", "PTX")
    entries = len(re.findall(r"^\s*(?:\.visible\s+)?\.entry\b", text, re.MULTILINE))
    if not entries:
        return Finding("failed", "the compiled text has no .entry", "PTX")
    target = re.search(r"^\.target\s+(\S+)", text, re.MULTILINE)
    words = f"sin over f64[1000] compiles to {entries} kernel{'s' if entries > 1 else ''}"
    return Finding("ok", f"{words}{f' for {target.group(1)}' if target else ''}", "PTX")


def _card() -> Finding:
    from numba import config
    from numba import cuda as numba_cuda

    if getattr(config, "ENABLE_CUDASIM", 0):
        return Finding("absent", "Numba's CUDA simulator is on; no card is used", "GPU")
    if not numba_cuda.is_available():
        return Finding("absent", "no card or driver found", "GPU")
    from autojit import jit

    name = numba_cuda.get_current_device().name
    name = name.decode() if isinstance(name, bytes) else str(name)
    x = np.linspace(0.0, 1.0, 1000)
    error = float(np.max(np.abs(np.asarray(jit(np.sin, device="cuda")(x)) - np.sin(x))))
    state = "ok" if error < 1e-12 else "failed"
    return Finding(state, f"{name}: sin over f64[1000] differs from NumPy's by {error:.1g}", "GPU")


PROBES: dict[str, Probe] = {
    "versions": versions,
    "processor": processor,
    "machine": model,
    "threads": threads,
    "vectors": vectors,
    "BLAS": blas,
    "vector math": vector_math,
    "gradients": gradients,
    "CUDA": cuda,
}
