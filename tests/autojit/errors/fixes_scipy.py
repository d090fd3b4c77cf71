"""Mistakes in calls of SciPy's functions, and programs into which the code of their messages is
pasted, as in `fixes`."""

from __future__ import annotations

FIXES: dict[str, tuple[str, str]] = {
    (
        "scipy/integrate/without_values.py: solve_ivp(fun, t_span, y0, "
        "t_eval=np.linspace(t0, t1, 100))"
    ): (
        "import scipy.integrate\n"
        "jit(lambda y: scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), y).y[:, 1])(x)",
        "from scipy.integrate import solve_ivp\n"
        "fun, t_span, t0, t1 = (lambda t, y: -y), (0, 1), 0, 1\njit(lambda y0: L0.y)(x)",
    ),
    (
        "scipy/integrate/without_values.py: found.t_events[0][0], found.y_events[0][-1], "
        "found.t_events[0].size"
    ): (
        "import scipy.integrate\n"
        "jit(lambda y: scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), y, "
        "events=lambda t, y: y[0] - 0.5).t_events[0])(x)",
        "from scipy.integrate import solve_ivp\n"
        "@jit\ndef g(y0):\n    found = solve_ivp(lambda t, y: -y, (0.0, 2.0), y0, "
        "events=lambda t, y: y[0] - 0.5)\n    return L0\n"
        "assert abs(g(np.array([1.0]))[0] - np.log(2)) < 1e-3",
    ),
    "scipy/interpolate/bsplines.py: [splint(a, b, (t, c, k)) for c in rows]": (
        "from scipy.interpolate import splint\nt = np.array([0.0, 0, 1, 1])\n"
        "jit(lambda c: splint(0.0, 1.0, (t, c, 1)))(np.ones((2, 2)))",
        "from scipy.interpolate import splint\nt, a, b, k = np.array([0.0, 0, 1, 1]), 0.0, 1.0, 1\n"
        "jit(lambda rows: L0)(np.ones((2, 2)))",
    ),
    "scipy/interpolate/fitted.py: make_lsq_spline(x, y, t)": (
        "import scipy.interpolate\njit(lambda y: scipy.interpolate.make_splrep(x, y, s=0.1).c)(x)",
        "from scipy.interpolate import make_lsq_spline\nx = np.arange(6.0)\n"
        "t = np.array([0.0, 0, 0, 0, 5, 5, 5, 5])\njit(lambda y: L0(1.0))(x)",
    ),
    "scipy/interpolate/fitted.py: splprep(points, s=0)": (
        "import scipy.interpolate\njit(lambda y: scipy.interpolate.splprep([y, y])[1])(x)",
        "from scipy.interpolate import splprep\npoints = np.ones((2, 5)).cumsum(1)\n"
        "jit(lambda points: L0[1])(points)",
    ),
    "scipy/linalg/matrix_functions.py: w, v = np.linalg.eig(A); (v * func(w)) @ np.linalg.inv(v)": (
        "import scipy.linalg\njit(lambda A: scipy.linalg.funm(A, np.sin))(np.eye(2))",
        "func = np.sin\n@jit\ndef g(A):\n    FIX\n    return v\ng(np.eye(2))",
    ),
    (
        "scipy/ndimage/correlation.py: "
        "np.abs(scipy.ndimage.gaussian_filter1d(image, sigma, axis=0, order=1))"
    ): (
        "import scipy.ndimage\n"
        "jit(lambda im: scipy.ndimage.gaussian_gradient_magnitude(im, 1.0, "
        "axes=0))(np.ones((3, 3)))",
        "import scipy.ndimage\nsigma = 1.0\njit(lambda image: L0)(np.ones((3, 3)))",
    ),
    (
        "scipy/optimize/roots.py: vmap(lambda c: scipy.optimize.brentq(lambda x: "
        "f(x, c), a, b))(cs)"
    ): (
        "import scipy.optimize.elementwise\n"
        "jit(lambda c: scipy.optimize.elementwise.find_root(lambda x, c: x - c, "
        "(0.0, 4.0), args=(c,)).x)(x)",
        "import scipy.optimize\nf, a, b, cs = (lambda x, c: x - c), 0.0, 4.0, x\nFIX",
    ),
    ("scipy/signal/peaks.py: peak = np.r_[False, (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]), False]"): (
        "import scipy.signal\njit(lambda x: x[scipy.signal.find_peaks(x)[0]])(x)",
        "@jit\ndef g(x):\n    L0\n    return L1\ng(np.array([0.0, 3.0, 1.0, 2.0, 0.0]))",
    ),
    "scipy/public.py: from … import": (
        "import autojit.scipy.special\nautojit.scipy.special.test",
        "FIX",
    ),
    "scipy/optimize/named.py: found = least_squares(f, x0); "
    "np.linalg.inv(found.jac.T @ found.jac)": (
        "import scipy.optimize\n"
        "jit(lambda a: scipy.optimize.leastsq(lambda x: x**2 - a, 1.0, full_output=True))(1.0)",
        "from scipy.optimize import least_squares\n@jit\ndef g(a):\n"
        "    f, x0 = (lambda x: x**2 - a), [1.0]\n    FIX\n    return found.x\ng(1.0)",
    ),
    "scipy/optimize/named.py: found = minimize(f, x0); "
    "np.linalg.inv(autojit.hessian(f)(found.x))": (
        "import scipy.optimize\n"
        "jit(lambda a: scipy.optimize.fmin_bfgs(lambda x: (x - a)**2, 1.0, full_output=1))(1.0)",
        "import autojit\nfrom scipy.optimize import minimize\n@jit\ndef g(a):\n"
        "    f, x0 = (lambda x: (x[0] - a)**2), [1.0]\n    FIX\n    return found.x\ng(1.0)",
    ),
    "scipy/signal/forms.py: cont2discrete(signal.zpk2ss(z, p, k), dt)": (
        "import scipy.signal\njit(lambda k: scipy.signal.cont2discrete(([], [-1.0], k), 0.1))(1.0)",
        "from scipy import signal\nfrom scipy.signal import cont2discrete\n"
        "z, p, dt = [], [-1.0], 0.1\njit(lambda k: L0[0])(1.0)",
    ),
    "scipy/signal/responses.py: …(system, w=np.logspace(-1, 1, 100))": (
        "import scipy.signal\njit(lambda k: scipy.signal.bode(([k], [1.0, 1.0])))(1.0)",
        "from scipy.signal import bode\n@jit\ndef g(k):\n    system = ([k], [1.0, 1.0])\n"
        "    return L0\ng(1.0)",
    ),
    'scipy/linalg/unitary_forms.py: schur(a, output="complex")': (
        "jit(lambda a: scipy.linalg.schur(a))(np.eye(65))",
        "from scipy.linalg import schur\njit(lambda a: L0[0])(np.eye(4))",
    ),
    'scipy/linalg/generalised_forms.py: ordqz(A, B, output="complex")': (
        "jit(lambda A: scipy.linalg.ordqz(A, np.eye(2)))(np.ones((2, 2)))",
        "from scipy.linalg import ordqz\nB = np.eye(2)\njit(lambda A: L0[0])(np.ones((2, 2)))",
    ),
    'scipy/linalg/generalised_forms.py: qz(A, B, output="complex")': (
        "jit(lambda A: scipy.linalg.qz(A, np.eye(33)))(np.ones((33, 33)))",
        "from scipy.linalg import qz\nB = np.eye(2)\njit(lambda A: L0[0])(np.ones((2, 2)))",
    ),
    "scipy/signal/systems.py: freqs_zpk(z, p, k, np.logspace(-1, 2, 200))": (
        "import scipy.signal\njit(lambda k: scipy.signal.freqs_zpk([], [-1.0], k))(1.0)",
        "from scipy.signal import freqs_zpk\nz, p = [], [-1.0]\njit(lambda k: L0)(1.0)",
    ),
    "scipy/signal/systems.py: …(system, T=np.linspace(0, 10, 100))": (
        "import scipy.signal\njit(lambda k: scipy.signal.step(([k], [1.0, 1.0])))(1.0)",
        "from scipy.signal import step\n@jit\ndef g(k):\n    system = ([k], [1.0, 1.0])\n"
        "    return L0\ng(1.0)",
    ),
    "scipy/signal/uneven.py: lombscargle(x, y - y.mean(), freqs)": (
        "import scipy.signal\n"
        "jit(lambda y: scipy.signal.lombscargle(x, y, [1.0], precenter=True))(y)",
        "from scipy.signal import lombscargle\nfreqs = [1.0]\njit(lambda y: L0)(y)",
    ),
    "scipy/sparse/construct.py: scipy.sparse.coo_array((data, (row, col)), shape=(m, n))": (
        "jit(lambda d: scipy.sparse.lil_array((d, [0], [0, 1])) @ x)(np.ones((1, 2, 2)))",
        "row, col, m, n = [0, 1], [1, 0], 2, 2\njit(lambda data: L0 @ x)(y)",
    ),
    "scipy/sparse/matrices.py: a.reshape(1, -1)": (
        "a = scipy.sparse.coo_array([1.0, 0.0, 2.0])\njit(lambda k: (k * a) @ np.ones(3))(2.0)",
        "a = scipy.sparse.coo_array([1.0, 0.0, 2.0])\njit(lambda k: (k * L0) @ np.ones(3))(2.0)",
    ),
    "scipy/sparse/matrices.py: scipy.sparse.coo_array((data, (A.row, A.col)), A.shape)": (
        "@jit\ndef g(d):\n    A = scipy.sparse.eye_array(2, format='dia')\n    A.data = d\n"
        "    return A @ x\ng(y)",
        "A = scipy.sparse.eye_array(2, format='coo')\njit(lambda data: L0 @ x)(y)",
    ),
    "scipy/sparse/operands.py: k * (A @ x)": (
        "import scipy.sparse.linalg\nA = scipy.sparse.linalg.aslinearoperator(np.eye(2))\n"
        "jit(lambda k: A.dot(k))(2.0)",
        "import scipy.sparse.linalg\nA = scipy.sparse.linalg.aslinearoperator(np.eye(2))\n"
        "jit(lambda k: L0)(2.0)",
    ),
    "scipy/ndimage/correlation.py: image = image.astype(float)": (
        "import scipy.ndimage\n"
        "jit(lambda im: scipy.ndimage.gaussian_filter(im, 1.0))(np.ones((3, 3), int))",
        "import scipy.ndimage\n@jit\ndef g(image):\n    L0\n"
        "    return scipy.ndimage.gaussian_filter(image, 1.0)\ng(np.ones((3, 3), int))",
    ),
    "scipy/ndimage/correlation.py: result = result.astype(np.…)": (
        "import scipy.ndimage\n"
        "jit(lambda im: scipy.ndimage.gaussian_filter(im, 1.0, "
        "output=np.float32))(np.ones((3, 3)))",
        "import scipy.ndimage\n@jit\ndef g(image):\n"
        "    result = scipy.ndimage.gaussian_filter(image, 1.0)\n    L0\n    return result\n"
        "g(np.ones((3, 3)))",
    ),
    "scipy/sparse/direct.py: spsolve_triangular(scipy.sparse.…(A), b, lower=…)": (
        "import scipy.sparse.linalg\nA = scipy.sparse.csr_array([[1.0, 2.0], [3.0, 4.0]])\n"
        "jit(lambda b: scipy.sparse.linalg.spsolve_triangular(A, b))(x)",
        "import scipy.sparse\nfrom scipy.sparse.linalg import spsolve_triangular\n"
        "A = scipy.sparse.csr_array([[1.0, 2.0], [3.0, 4.0]])\njit(lambda b: L0)(x)",
    ),
    "scipy/sparse/matrices.py: A.toarray() == B": (
        "import scipy.sparse\njit(lambda k: (k * scipy.sparse.eye_array(2)) == 1.0)(2.0)",
        "import scipy.sparse\nB = 1.0\n@jit\ndef g(k):\n    A = k * scipy.sparse.eye_array(2)\n"
        "    return L0\ng(2.0)",
    ),
}
