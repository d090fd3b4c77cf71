"""Their tests and examples that do not run, and why."""

_REASONS = {
    "counts how often the nodes of autograd's own graph run, by `const_graph`": (
        "test_misc.py::test_const_graph_args",
    ),
    "takes indices from what is differentiated, whose derivative would be lost: refused by design; "
    "write autojit.stop_gradient": ("test_numpy.py::test_cast_to_int",),
    "differentiates numbers of more than 64 bits, which compiled code does not have": (
        "test_wrappers.py::test_dtypes",
    ),
    "autojit differentiates it, and the test expects an error": (
        "test_fft.py::test_rfftn_odd_not_implemented",
    ),
    "NumPy reads one triangle, and the test gives the derivative to that one; autojit's derivative "
    "is symmetric": (
        "test_linalg.py::test_eigvalh_lower",
        "test_linalg.py::test_eigvalh_lower_broadcasting",
        "test_linalg.py::test_eigvalh_lower_complex",
        "test_linalg.py::test_eigvalh_upper",
        "test_linalg.py::test_eigvalh_upper_broadcasting",
        "test_linalg.py::test_eigvalh_upper_complex",
    ),
    "the square root of the real matrix is complex, by its values; traced, its type is known "
    "before them, and it is NaN": ("test_scipy.py::test_sqrtm",),
}

#: Test -> why it fails.
TESTS = {name: reason for reason, names in _REASONS.items() for name in names}

#: Example -> why it fails.
EXAMPLES = {
    "dot_graph.py": "draws the graph of autograd's own nodes",
    "print_trace.py": "traces by autograd's own nodes",
    "rkhs.py": "defines a box and a vector space of autograd's",
}
