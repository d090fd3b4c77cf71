"""``scipy.interpolate`` for traced values; its classes take plain values as well."""

from . import objects as objects  # registers the answers for SciPy's own interpolators
from .bsplines import (
    BSpline,
    InterpolatedUnivariateSpline,
    UnivariateSpline,
    make_interp_spline,
    splantider,
    splder,
    splev,
    splint,
    splrep,
)
from .fitted import (
    bisplev,
    insert,
    make_lsq_spline,
    make_smoothing_spline,
    make_splprep,
    make_splrep,
    pade,
    pchip_interpolate,
    spalde,
    splprep,
)
from .grids import RectBivariateSpline, RegularGridInterpolator, interp1d, interpn
from .piecewise import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    PPoly,
)
from .scattered import (
    BarycentricInterpolator,
    KroghInterpolator,
    RBFInterpolator,
    barycentric_interpolate,
    krogh_interpolate,
    lagrange,
)
from .triangulated import (
    CloughTocher2DInterpolator,
    LinearNDInterpolator,
    NearestNDInterpolator,
    griddata,
)

__all__ = [
    "Akima1DInterpolator", "BSpline", "BarycentricInterpolator", "CloughTocher2DInterpolator",
    "CubicHermiteSpline", "CubicSpline", "InterpolatedUnivariateSpline", "KroghInterpolator",
    "LinearNDInterpolator", "NearestNDInterpolator", "PPoly",
    "PchipInterpolator", "RBFInterpolator", "RectBivariateSpline", "RegularGridInterpolator",
    "UnivariateSpline", "barycentric_interpolate", "bisplev", "griddata", "insert", "interp1d",
    "interpn", "krogh_interpolate", "lagrange", "make_interp_spline", "make_lsq_spline",
    "make_smoothing_spline", "make_splprep", "make_splrep", "pade", "pchip_interpolate", "spalde",
    "splantider", "splder", "splev", "splint", "splprep", "splrep",
]  # fmt: skip
