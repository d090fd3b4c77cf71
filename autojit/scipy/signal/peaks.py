"""Peaks of a signal: their places, heights, prominences and widths.

The places are found by SciPy in the values of the signal, so the values must be known: without
``jit`` they are. What is measured at the places (heights, prominences, widths) has derivatives by
the signal; the places themselves have none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, values_of
from autojit.scipy.registry import answers, original
from autojit.tracing.created_arrays import fresh

_MASK = (
    "Keep the shape, and mark the peaks:\n"
    "    peak = np.r_[False, (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]), False]\n"
    "    np.where(peak, x, 0)"
)


def _found(name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
    """What SciPy's own function finds in the values."""
    full_name = f"scipy.signal.{name}"
    given = values_of((x, args, kwargs), full_name, _MASK)
    return original(full_name)(given[0], *given[1], **given[2])


_LIMITS = ("height", "threshold", "distance", "prominence", "width", "plateau_size")


@answers("scipy.signal.find_peaks", tuples=_LIMITS)
def find_peaks(
    x: Any, height: Any = None, threshold: Any = None, distance: Any = None,
    prominence: Any = None, width: Any = None, wlen: Any = None, rel_height: float = 0.5,
    plateau_size: Any = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """The places of the peaks of a row, and their properties.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import find_peaks
    >>> x = np.array([0.0, 3.0, 1.0, 2.0, 0.0])
    >>> grad(lambda x: find_peaks(x, prominence=0)[1]["prominences"][1])(x)
    array([ 0.,  0., -1.,  1.,  0.])
    """
    places, found = _found("find_peaks", x, height, threshold, distance, prominence, width, wlen,
                           rel_height, plateau_size)  # fmt: skip
    row = floating(x)
    if "peak_heights" in found:
        found["peak_heights"] = row[places]
    if "left_thresholds" in found:
        found["left_thresholds"] = row[places] - row[places - 1]
        found["right_thresholds"] = row[places] - row[places + 1]
    if "prominences" in found:
        bases = found["left_bases"], found["right_bases"]
        found["prominences"] = _above_bases(row, places, *bases)
    if "widths" in found:
        ends = found["left_ips"], found["right_ips"]
        names = ("widths", "width_heights", "left_ips", "right_ips")
        measured = _widths(row, places, rel_height, found["prominences"], *ends)
        found.update(zip(names, measured, strict=True))
    return fresh(places), found


def _above_bases(row: Any, places: Any, left: Any, right: Any) -> Any:
    return row[places] - np.maximum(row[left], row[right])


def _widths(
    row: Any, places: Any, rel_height: Any, prominences: Any, left: Any, right: Any
) -> tuple[Any, Any, Any, Any]:
    """Widths, their heights, and their ends, near the known ends ``left`` and ``right``."""
    height = row[places] - prominences * rel_height
    start = _crossing(row, height, np.floor(left).astype(int), 1)
    end = _crossing(row, height, np.ceil(right).astype(int), -1)
    return end - start, height, start, end


def _crossing(row: Any, height: Any, below: Any, step: int) -> Any:
    """Where the line from a sample to the next one meets a height.

    It is the sample itself if that is higher: there the search ends.
    """
    is_end = row[below] > height
    rise = np.where(is_end, 1.0, row[below + step] - row[below])
    return below + step * np.where(is_end, 0.0, (height - row[below]) / rise)


@answers("scipy.signal.peak_prominences", tuples=("peaks",))
def peak_prominences(x: Any, peaks: Any, wlen: Any = None) -> tuple[Any, Any, Any]:
    """How far peaks stand out, and the places of their bases.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import peak_prominences
    >>> x = np.array([0.0, 3.0, 1.0, 2.0, 0.0])
    >>> grad(lambda x: peak_prominences(x, [3])[0][0])(x)
    array([ 0.,  0., -1.,  1.,  0.])
    """
    _, left, right = _found("peak_prominences", x, peaks, wlen)
    places = np.asarray(values_of(peaks, "scipy.signal.peak_prominences", _MASK))
    return _above_bases(floating(x), places, left, right), fresh(left), fresh(right)


@answers("scipy.signal.peak_widths", tuples=("peaks", "prominence_data"))
def peak_widths(
    x: Any, peaks: Any, rel_height: float = 0.5, prominence_data: Any = None, wlen: Any = None
) -> tuple[Any, Any, Any, Any]:
    """The widths of peaks, the heights at which they are measured, and their ends.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import peak_widths
    >>> x = np.array([0.0, 2.0, 1.0])
    >>> peak_widths(x, [1])[0], grad(lambda x: peak_widths(x, [1])[0][0])(x)
    (array([0.75]), array([ 0.125,  0.125, -0.25 ]))
    """
    name, row = "peak_widths", floating(x)
    known = values_of((peaks, prominence_data), f"scipy.signal.{name}", _MASK)
    places = np.asarray(known[0])
    if prominence_data is None:
        prominence_data = peak_prominences(row, places, wlen)
        known = known[0], values_of(prominence_data, f"scipy.signal.{name}", _MASK)
    data = tuple(np.asarray(part) for part in known[1])
    _, _, left, right = _found(name, x, places, rel_height, data, wlen)
    return _widths(row, places, rel_height, prominence_data[0], left, right)


@answers("scipy.signal.argrelextrema")
def argrelextrema(
    data: Any, comparator: Any, axis: int = 0, order: int = 1, mode: str = "clip"
) -> Any:
    """The places of elements that compare with all near ones along an axis.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import argrelextrema
    >>> grad(lambda x: np.sum(x[argrelextrema(x, np.greater)]))(np.array([0.0, 3.0, 1.0]))
    array([0., 1., 0.])
    """
    return fresh(_found("argrelextrema", data, comparator, axis, order, mode))


@answers("scipy.signal.argrelmax")
def argrelmax(data: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> Any:
    """The places of local maxima along an axis.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import argrelmax
    >>> grad(lambda x: np.sum(x[argrelmax(x)]))(np.array([0.0, 3.0, 1.0]))
    array([0., 1., 0.])
    """
    return fresh(_found("argrelmax", data, axis, order, mode))


@answers("scipy.signal.argrelmin")
def argrelmin(data: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> Any:
    """The places of local minima along an axis.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import argrelmin
    >>> grad(lambda x: np.sum(x[argrelmin(x)]))(np.array([2.0, 0.0, 1.0]))
    array([0., 1., 0.])
    """
    return fresh(_found("argrelmin", data, axis, order, mode))


@answers("scipy.signal.find_peaks_cwt", tuples=("widths",))
def find_peaks_cwt(
    vector: Any, widths: Any, wavelet: Any = None, max_distances: Any = None,
    gap_thresh: Any = None, min_length: Any = None, min_snr: float = 1, noise_perc: float = 10,
    window_size: Any = None,
) -> Any:  # fmt: skip
    """The places of peaks that a wavelet transform finds at several widths.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import find_peaks_cwt
    >>> x = np.exp(-((np.arange(21.0) - 10) ** 2) / 8)
    >>> grad(lambda x: x[find_peaks_cwt(x, [2.0, 3.0])[0]])(x)[8:13]
    array([0., 0., 1., 0., 0.])
    """
    return fresh(_found("find_peaks_cwt", vector, widths, wavelet, max_distances, gap_thresh,
                        min_length, min_snr, noise_perc, window_size))  # fmt: skip
