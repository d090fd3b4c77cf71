"""Their tests and examples that do not run, and why."""

_CONVOLVE = "calls autograd's own `scipy.signal.convolve`, which has axes= and dot_axes="
_WHERE = "expects of `np.where` what autograd's wrapper does: keywords, and Python's own numbers"
_DEPRECATED = "defines rules by wrappers that autograd itself calls deprecated"

_REASONS = {
    "asks for autograd's own `isinstance`, which looks into its boxes": (
        "test_builtins.py::test_isinstance",
    ),
    "makes a graph of autograd's own nodes, by `const_graph`": (
        "test_misc.py::test_const_graph",
        "test_misc.py::test_const_graph_args",
    ),
    _DEPRECATED: (
        "test_wrappers.py::test_deprecated_defgrad_wrapper",
        "test_wrappers.py::test_deprecated_defvjp_is_zero_wrapper",
        "test_wrappers.py::test_deprecated_defvjp_wrapper",
    ),
    "calls `np.linalg._dot` and `np.linalg.T`, which only autograd's module has": (
        "test_linalg.py::test_pinv",
    ),
    "calls `np.make_diagonal`, which only autograd's module has": (
        "test_numpy.py::test_diagonal",
        "test_numpy.py::test_make_diagonal",
    ),
    _CONVOLVE: (
        "test_scipy.py::test_convolve_generalization",
        "test_scipy.py::test_convolve_ignore",
        "test_scipy.py::test_convolve_ignore_dot",
    ),
    _WHERE: (
        "test_wrappers.py::test_custom_where",
        "test_wrappers.py::test_custom_where_dtypes[float-False-1-2.0]",
        "test_wrappers.py::test_custom_where_dtypes[float-True-3.0-4.0]",
        "test_wrappers.py::test_custom_where_dtypes[int-True-1-2]",
        "test_wrappers.py::test_custom_where_dtypes[list-True-x3-y3]",
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
    "convnet.py": _CONVOLVE,
    "dot_graph.py": "draws the graph of autograd's own nodes",
    "fixed_points.py": "its rule takes a function that closes over traced values: write "
    "autojit.fixed_point",
    "print_trace.py": "traces by autograd's own nodes",
    "rkhs.py": "defines a box and a vector space of autograd's",
}
