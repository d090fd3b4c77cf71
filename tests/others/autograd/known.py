"""Their tests and examples that do not run, and why."""

_MACHINERY = "asks for autograd's own machinery: its nodes, boxes and wrappers"
_NAMES = "calls a function that only autograd's wrappers of NumPy and SciPy have"
_BY_DESIGN = "autojit refuses it by design"

_REASONS = {
    _MACHINERY: (
        "test_builtins.py::test_isinstance",
        "test_misc.py::test_const_graph",
        "test_misc.py::test_const_graph_args",
        "test_wrappers.py::test_deprecated_defgrad_wrapper",
        "test_wrappers.py::test_deprecated_defvjp_is_zero_wrapper",
        "test_wrappers.py::test_deprecated_defvjp_wrapper",
    ),
    _NAMES: (
        "test_linalg.py::test_pinv",
        "test_numpy.py::test_diagonal",
        "test_numpy.py::test_make_diagonal",
        "test_scipy.py::test_convolve_generalization",
        "test_scipy.py::test_convolve_ignore",
        "test_scipy.py::test_convolve_ignore_dot",
        "test_wrappers.py::test_custom_where",
        "test_wrappers.py::test_custom_where_dtypes[float-False-1-2.0]",
        "test_wrappers.py::test_custom_where_dtypes[float-True-3.0-4.0]",
        "test_wrappers.py::test_custom_where_dtypes[int-True-1-2]",
        "test_wrappers.py::test_custom_where_dtypes[list-True-x3-y3]",
    ),
    _BY_DESIGN: (
        "test_numpy.py::test_cast_to_int",
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
    "a wrong rule for a function of the cotangent inside of another rule is not noticed: the "
    "derivative by the cotangent does not come from that rule; not looked into yet": (
        "test_tests.py::test_check_vjp_2nd_order_fail",
    ),
    "the square root is complex; traced, it is NaN": ("test_scipy.py::test_sqrtm",),
}

#: Test -> why it fails.
TESTS = {name: reason for reason, names in _REASONS.items() for name in names}

#: Example -> why it fails.
EXAMPLES = {
    "convnet.py": _NAMES,
    "dot_graph.py": _MACHINERY,
    "fixed_points.py": "its rule takes a function that closes over traced values: write "
    "autojit.fixed_point",
    "print_trace.py": _MACHINERY,
    "rkhs.py": _MACHINERY,
}
