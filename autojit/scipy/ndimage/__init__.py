"""``scipy.ndimage`` for traced arrays; if no argument is traced, SciPy's own function runs."""

from .correlation import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    laplace,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from .fourier import (
    fourier_gaussian,
    fourier_shift,
    fourier_uniform,
    generic_gradient_magnitude,
    generic_laplace,
)
from .generic import (
    fourier_ellipsoid,
    generic_filter,
    geometric_transform,
    labeled_comprehension,
)
from .geometry import (
    affine_transform,
    map_coordinates,
    rotate,
    shift,
    spline_filter,
    spline_filter1d,
    zoom,
)
from .masks import (
    binary_closing,
    binary_dilation,
    binary_erosion,
    binary_fill_holes,
    binary_hit_or_miss,
    binary_opening,
    binary_propagation,
)
from .measurements import (
    center_of_mass,
    extrema,
    maximum,
    mean,
    median,
    minimum,
    standard_deviation,
    sum,
    sum_labels,
    variance,
)
from .morphology import (
    black_tophat,
    grey_closing,
    grey_dilation,
    grey_erosion,
    grey_opening,
    maximum_filter1d,
    minimum_filter1d,
    morphological_gradient,
    morphological_laplace,
    percentile_filter,
    white_tophat,
)
from .ranks import maximum_filter, median_filter, minimum_filter, rank_filter
from .regions import (
    distance_transform_bf,
    distance_transform_cdt,
    distance_transform_edt,
    histogram,
    label,
    maximum_position,
    minimum_position,
)

__all__ = [
    "affine_transform", "binary_closing", "binary_dilation", "binary_erosion", "binary_fill_holes",
    "binary_hit_or_miss", "binary_opening", "binary_propagation", "black_tophat", "center_of_mass",
    "convolve", "convolve1d", "correlate", "correlate1d", "distance_transform_bf",
    "distance_transform_cdt", "distance_transform_edt", "extrema", "fourier_ellipsoid",
    "fourier_gaussian", "fourier_shift", "fourier_uniform", "gaussian_filter", "gaussian_filter1d",
    "gaussian_gradient_magnitude", "gaussian_laplace", "generic_filter",
    "generic_gradient_magnitude", "generic_laplace", "geometric_transform", "grey_closing",
    "grey_dilation", "grey_erosion", "grey_opening", "histogram", "label", "labeled_comprehension",
    "laplace", "map_coordinates", "maximum", "maximum_filter", "maximum_filter1d",
    "maximum_position", "mean", "median", "median_filter", "minimum", "minimum_filter",
    "minimum_filter1d", "minimum_position", "morphological_gradient", "morphological_laplace",
    "percentile_filter", "prewitt", "rank_filter", "rotate", "shift", "sobel", "spline_filter",
    "spline_filter1d", "standard_deviation", "sum", "sum_labels", "uniform_filter",
    "uniform_filter1d", "variance", "white_tophat", "zoom",
]  # fmt: skip
