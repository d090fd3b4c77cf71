"""When NumPy's and SciPy's names are replaced, and modules that are imported meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, trace

#: Each imports a package of SciPy's in its first trace; what has no source has no twin.
LATE = """
import numpy as np
import scipy
from autojit import jit

def frozen(x):
    return scipy.stats.gamma(2.0, scale=x).logpdf(1.3)

nowhere = {"scipy": scipy, "np": np}
exec("def mapped(x): from scipy import optimize; return optimize.brentq(lambda t: t*t - x, 0, 9)",
     nowhere)
exec("def product(x): import scipy.sparse as s; return (s.csr_matrix(np.eye(2)) @ [x, x])[0]",
     nowhere)
exec("def solved(x): import scipy.sparse.linalg as l, scipy.sparse as s; "
     "return list(map(l.spsolve, [s.csc_matrix(2 * np.eye(2))], [x * np.ones(2)]))[0][0]", nowhere)
for f in (frozen, nowhere["mapped"], nowhere["product"], nowhere["solved"]):
    print(float(jit(f)(2.0)))
from scipy.stats._continuous_distns import np as theirs, sc
assert type(theirs.zeros(1)) is np.ndarray and "interception" not in type(sc.gammaln).__module__
print(float(scipy.stats.gamma(2.0, scale=2.0).logpdf(1.3)))
"""


def test_packages_that_the_first_trace_imports(tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text(LATE)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    density = np.log(1.3) - 2 * np.log(2.0) - 0.65
    np.testing.assert_allclose(
        list(map(float, done.stdout.split())), [density, np.sqrt(2), 2.0, 1.0, density]
    )


MODULE = """
import numpy as np
from autojit import grad
TABLE = np.zeros(3)
TABLE[1:] = np.arange(1.0, 3.0)
zeros = np.zeros
SLOPE = grad(lambda x: x * x)(3.0)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "made_of_tables.py").write_text(MODULE)
    (tmp_path / "made_of_errors.py").write_text("import made_of_nothing_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("made_of_tables", None)


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_module_runs_as_outside_of_the_trace(elsewhere: bool) -> None:
    zeros, finders = np.zeros, list(sys.meta_path)
    begun, done = threading.Event(), threading.Event()

    def other(x: Any) -> Any:
        begun.set()
        done.wait(10)
        return np.stack([x, np.array([x, x])[0]])

    thread = threading.Thread(target=trace(other), args=(1.0,))
    if elsewhere:
        thread.start()
        begun.wait(10)

    def f(x: Any) -> Any:
        from made_of_tables import SLOPE, TABLE  # type: ignore[import-not-found]

        own = np.zeros(2)
        own[0] = x
        return x * TABLE.sum() * SLOPE + own[0]

    assert jit(grad(f))(1.0) == 19.0
    done.set()
    if elsewhere:
        thread.join()
    found: Any = sys.modules["made_of_tables"]
    assert type(found.TABLE) is np.ndarray
    assert found.TABLE.flags.writeable
    assert (found.zeros is zeros) is not elsewhere
    assert type(found.zeros(1)) is np.ndarray
    assert type(found.__loader__).__module__ == "_frozen_importlib_external"
    assert found.__spec__.loader is found.__loader__
    assert np.zeros is zeros
    assert sys.meta_path == finders


@pytest.mark.usefixtures("module")
def test_a_failing_import_leaves_the_trace_as_it_was() -> None:
    def f(x: Any) -> Any:
        try:
            import made_of_errors  # type: ignore[import-not-found]  # noqa: F401
        except ModuleNotFoundError:
            both = np.zeros(2)
            both[0] = x
            return both.sum()

    assert jit(grad(f))(1.0) == 1.0
