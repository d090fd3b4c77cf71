"""Autograd's tests and examples that do not run, with the reason."""

_REASONS = {
    "counts how often Python runs each call of a function under `const_graph`, which is `jit` "
    "here: compiled code runs without Python": ("test_misc.py::test_const_graph_args",),
    "differentiates `longdouble`, of more than 64 bits, which compiled code does not have; "
    "autojit refuses it by name": ("test_wrappers.py::test_dtypes",),
    "expects NotImplementedError, since autograd lacks the derivative; autojit has it": (
        "test_fft.py::test_rfftn_odd_not_implemented",
    ),
}

#: Test -> why it fails.
TESTS = {name: reason for reason, names in _REASONS.items() for name in names}

#: Example -> why it fails.
EXAMPLES = {
    "rkhs.py": "differentiates by a function, an object of a class of its own: its cotangent has "
    "other elements than the function, one for each point at which that was called",
}
