"""The reasons why public functions are not covered or not counted."""

from __future__ import annotations

from . import reasons_scipy

#: Functions that take no array of numbers.  They are not counted.
OTHERS: dict[str, dict[str, str]] = {
    "numpy": {
        "files": "fromfile fromregex genfromtxt load loadtxt save savetxt savez savez_compressed",
        "text and bytes": "array2string array_repr array_str base_repr binary_repr "
        "format_float_positional format_float_scientific frombuffer fromstring from_dlpack",
        "dates": "busday_count busday_offset datetime_as_string datetime_data is_busday isnat",
        "settings of NumPy": "get_include get_printoptions getbufsize geterr geterrcall info "
        "printoptions set_printoptions setbufsize seterr seterrcall show_config show_runtime test",
    },
    "numpy.polynomial": {"settings of NumPy": "set_default_printstyle"},
    **reasons_scipy.OTHERS,
}  # fmt: skip

#: Functions of arrays that autojit refuses.
REFUSED: dict[str, dict[str, str]] = {
    "numpy": {
        "the layout in memory is not known": "isfortran may_share_memory nested_iters "
        "shares_memory",
        "np.matrix is not covered": "asmatrix bmat",
    },
    "numpy.linalg": {},
    "numpy.polynomial": {
        "the shape depends on values": "chebyshev.chebtrim hermite.hermtrim hermite_e.hermetrim "
        "laguerre.lagtrim legendre.legtrim polynomial.polytrim",
    },
    **reasons_scipy.REFUSED,
}  # fmt: skip


def reasons(table: dict[str, dict[str, str]], namespace: str) -> dict[str, str]:
    """The reason for each function, by name.

    >>> reasons(REFUSED, "numpy")["bmat"]
    'np.matrix is not covered'
    """
    return {
        name: reason for reason, names in table.get(namespace, {}).items() for name in names.split()
    }
