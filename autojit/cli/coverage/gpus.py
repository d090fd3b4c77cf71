"""Which covered functions compile for a GPU: their values, in sample calls.

Tests print these calls as device programs.  Of namespaces that stand in neither table this is not
known function by function.
"""

from __future__ import annotations

from collections.abc import Sequence

from .catalogue import Function

_EIGENVALUES = "eigenvalues without symmetry (cuSOLVER has them)"
#: What runs on the CPU alone, by the reason; all other covered functions compile.
ON_THE_CPU: dict[str, dict[str, str]] = {
    "numpy": {_EIGENVALUES: "roots", "SciPy's code in C": "i0"},
    "numpy.linalg": {_EIGENVALUES: "eig eigvals"},
    "numpy.fft": {},
    "numpy.lib.stride_tricks": {},
    "numpy.polynomial": {
        _EIGENVALUES: "chebyshev.chebroots hermite.hermroots hermite_e.hermeroots "
        "laguerre.lagroots legendre.legroots polynomial.polyroots",
    },
}
#: Functions that are formulas; all others of the namespace call SciPy's own code in C.
FORMULAS: dict[str, str] = {
    "scipy.special": "cbrt entr erf erfc exp2 expit expm1 huber kl_div log1p log_expit "
    "log_softmax logit logsumexp ndtr pseudo_huber rel_entr sinc softmax softplus xlog1py xlogy",
}


def compiling(rows: Sequence[Function]) -> list[str] | None:
    """The covered functions of a namespace that compile for a GPU, if that is known."""
    namespace = rows[0].namespace
    covered = [row.name for row in rows if row.state == "covered"]
    if namespace in FORMULAS:
        return [name for name in covered if name in FORMULAS[namespace].split()]
    if namespace not in ON_THE_CPU:
        return None
    others = {name for names in ON_THE_CPU[namespace].values() for name in names.split()}
    return [name for name in covered if name not in others]


def words(rows: Sequence[Function]) -> str:
    """How many that are, for the page."""
    found = compiling(rows)
    return "" if found is None else str(len(found))


def remarks(namespace: str) -> dict[str, list[str]]:
    """Lines of the page: what runs on the CPU alone, or what does not."""
    if namespace in FORMULAS:
        return {"On a GPU (others call SciPy's code in C)": FORMULAS[namespace].split()}
    return {
        f"On the CPU alone, {reason}": names.split()
        for reason, names in ON_THE_CPU.get(namespace, {}).items()
    }
