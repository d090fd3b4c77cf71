"""A convolution as NumPy's users write it: the shifted images side by side, and one product.

A compiler that sees that they are shifts of one image need not write them to memory nine times.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload

BATCH, CHANNELS, FILTERS, SIDE, TAPS = 8, 16, 16, 32, 3
WIDE = SIDE + 2  # a side with a zero at both ends
FIRST = WIDE + 1  # where the image begins in its padded one
SPAN = SIDE * WIDE - 2  # from the first to the last result, with two strangers after each row


def primal(np: Any, special: Any) -> Function:
    def convolve(images, filters):
        """Of images (BATCH, CHANNELS, SIDE, SIDE), with zeros around them."""
        padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), "constant")
        shifted = [
            padded[:, :, i : i + SIDE, j : j + SIDE] for i in range(TAPS) for j in range(TAPS)
        ]
        columns = np.reshape(np.stack(shifted, axis=2), (BATCH, -1, SIDE * SIDE))
        return np.reshape(filters, (FILTERS, -1)) @ columns

    def loss(images, filters):
        return np.sum(np.maximum(convolve(images, filters), 0.0) ** 2)

    return loss


def jax_primal(jax: Any) -> Function:
    def loss(images, filters):
        convolved = jax.lax.conv(images, filters, (1, 1), "SAME")
        return jax.numpy.sum(jax.nn.relu(convolved) ** 2)

    return loss


def torch_primal(torch: Any) -> Function:
    def loss(images, filters):
        convolved = torch.nn.functional.conv2d(images, filters, padding=1)
        return torch.sum(torch.relu(convolved) ** 2)

    return loss


def numpy_gradient(np: Any) -> Function:
    """The transpose of a convolution is one with the filters turned round."""

    def columns_of(images):
        padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (TAPS, TAPS), axis=(2, 3))
        return windows.transpose(1, 4, 5, 0, 2, 3).reshape(-1, BATCH * SIDE * SIDE)

    def gradient(images, filters):
        columns = columns_of(images)
        back = 2.0 * np.maximum(filters.reshape(FILTERS, -1) @ columns, 0.0)
        d_filters = (back @ columns.T).reshape(filters.shape)
        turned = filters[:, :, ::-1, ::-1].transpose(1, 0, 2, 3).reshape(CHANNELS, -1)
        slopes = back.reshape(FILTERS, BATCH, SIDE, SIDE).transpose(1, 0, 2, 3)
        d_images = (turned @ columns_of(slopes)).reshape(CHANNELS, BATCH, SIDE, SIDE)
        return d_images.transpose(1, 0, 2, 3), d_filters

    return gradient


OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def numba_correlate(numba: Any) -> Function:
    @numba.njit(**OPTIONS)
    def correlate(padded, filters, results):
        """Compute two results at a time, so that their eighteen factors stay in registers.

        The padded rows of an image are joined to one long loop, so no vector ends at a row's end.
        """
        for f in range(0, filters.shape[0], 2):
            first, second = results[f], results[f + 1]
            first[:], second[:] = 0, 0
            for c in range(filters.shape[1]):
                image, a, b = padded[c], filters[f, c], filters[f + 1, c]
                a0, a1, a2 = a[0, 0], a[0, 1], a[0, 2]
                a3, a4, a5 = a[1, 0], a[1, 1], a[1, 2]
                a6, a7, a8 = a[2, 0], a[2, 1], a[2, 2]
                b0, b1, b2 = b[0, 0], b[0, 1], b[0, 2]
                b3, b4, b5 = b[1, 0], b[1, 1], b[1, 2]
                b6, b7, b8 = b[2, 0], b[2, 1], b[2, 2]
                for k in range(SPAN):
                    m = k + WIDE
                    n = m + WIDE
                    x0, x1, x2 = image[k], image[k + 1], image[k + 2]
                    x3, x4, x5 = image[m], image[m + 1], image[m + 2]
                    x6, x7, x8 = image[n], image[n + 1], image[n + 2]
                    one = a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3 + a4 * x4
                    two = b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3 + b4 * x4
                    first[k] += one + (a5 * x5 + a6 * x6 + a7 * x7 + a8 * x8)
                    second[k] += two + (b5 * x5 + b6 * x6 + b7 * x7 + b8 * x8)

    return correlate


def numba_filters_back(numba: Any) -> Function:
    @numba.njit(**OPTIONS)
    def filters_back(padded, slopes, sums):
        """Add the filters' cotangents for one image: nine sums at a time over all its points."""
        zero = numpy.float32(0.0)
        for f in range(FILTERS):
            slope = slopes[f, FIRST : FIRST + SPAN]
            for c in range(CHANNELS):
                image, result = padded[c], sums[f, c]
                s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = s8 = zero
                for k in range(SPAN):
                    m = k + WIDE
                    n = m + WIDE
                    back = slope[k]
                    s0 += back * image[k]
                    s1 += back * image[k + 1]
                    s2 += back * image[k + 2]
                    s3 += back * image[m]
                    s4 += back * image[m + 1]
                    s5 += back * image[m + 2]
                    s6 += back * image[n]
                    s7 += back * image[n + 1]
                    s8 += back * image[n + 2]
                result[0, 0], result[0, 1], result[0, 2] = s0, s1, s2
                result[1, 0], result[1, 1], result[1, 2] = s3, s4, s5
                result[2, 0], result[2, 1], result[2, 2] = s6, s7, s8

    return filters_back


def numba_layout(numba: Any) -> tuple[Function, Function, Function]:
    """Conversions between images and the long rows of `correlate`."""
    njit = numba.njit(**OPTIONS)
    zero = numpy.float32(0.0)

    @njit
    def pad(image):
        padded = numpy.zeros((CHANNELS, WIDE * WIDE), image.dtype)
        for c in range(CHANNELS):
            for i in range(SIDE):
                start = FIRST + i * WIDE
                padded[c, start : start + SIDE] = image[c, i]
        return padded

    @njit
    def crop(rows, image):
        for c in range(CHANNELS):
            for i in range(SIDE):
                image[c, i] = rows[c, i * WIDE : i * WIDE + SIDE]

    @njit
    def slopes_of(rows):
        """Twice the relu of the results, with zeros around them."""
        slopes = numpy.zeros((FILTERS, WIDE * WIDE), rows.dtype)
        for f in range(FILTERS):
            for i in range(SIDE):
                start = i * WIDE
                above = numpy.maximum(rows[f, start : start + SIDE], zero)
                slopes[f, FIRST + start : FIRST + start + SIDE] = above + above
        return slopes

    return pad, crop, slopes_of


def numba_version(numba: Any) -> tuple[Function, Function]:
    """Each thread takes some of the images, and reads their shifts from the first-level cache."""
    correlate, filters_back = numba_correlate(numba), numba_filters_back(numba)
    pad, crop, slopes_of = numba_layout(numba)

    @numba.njit(parallel=True, **OPTIONS)
    def value(images, filters):
        losses = numpy.zeros(BATCH, images.dtype)
        for n in numba.prange(BATCH):
            rows = numpy.empty((FILTERS, SPAN), images.dtype)
            correlate(pad(images[n]), filters, rows)
            slopes = slopes_of(rows).ravel()
            losses[n] = numpy.sum(slopes * slopes)
        return losses.sum() / numpy.float32(4.0)

    @numba.njit(parallel=True, **OPTIONS)
    def gradient(images, filters):
        turned = filters[:, :, ::-1, ::-1].transpose(1, 0, 2, 3).copy()
        d_images = numpy.empty_like(images)
        sums = numpy.empty((BATCH, FILTERS, CHANNELS, TAPS, TAPS), images.dtype)
        for n in numba.prange(BATCH):
            rows, padded = numpy.empty((FILTERS, SPAN), images.dtype), pad(images[n])
            correlate(padded, filters, rows)
            slopes = slopes_of(rows)
            filters_back(padded, slopes, sums[n])
            correlate(slopes, turned, rows)
            crop(rows, d_images[n])
        return d_images, sums.sum(axis=0)

    return value, gradient


def inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    images = rng.normal(size=(BATCH, CHANNELS, SIDE, SIDE))
    filters = rng.normal(size=(FILTERS, CHANNELS, TAPS, TAPS)) / (CHANNELS * TAPS * TAPS) ** 0.5
    return images.astype(numpy.float32), filters.astype(numpy.float32)


POINTS, COLUMNS = BATCH * SIDE * SIDE, CHANNELS * TAPS * TAPS

WORKLOADS = (
    Workload(
        name="convolution",
        derivative_of=f"squares of relu of {FILTERS} filters on {BATCH} images of 32 x 32, float32",
        dtype="float32",
        target=None,
        inputs=inputs,
        argnums=(0, 1),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "torch": torch_primal,
        },
        # One product forward, and two back: by the images and by the filters.
        limit=Limit(
            bytes_moved=8 * (BATCH * CHANNELS * SIDE * SIDE + FILTERS * COLUMNS),
            flops=6 * FILTERS * COLUMNS * POINTS,
        ),
    ),
)
