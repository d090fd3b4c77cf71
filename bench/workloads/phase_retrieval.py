"""Phase retrieval: a real picture from the intensities of its Fourier transforms.

There are four coded diffraction patterns: the picture behind a mask of random phases is
transformed, and only squared magnitudes are measured. The gradient needs four more transforms, back
through the masks.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload, not_written

SIDE, MASKS = 128, 4


def primal(np: Any, special: Any) -> Function:
    def loss(picture, masks, intensities):
        field = np.fft.fft2(masks * picture, norm="ortho")
        off = field.real**2 + field.imag**2 - intensities
        return np.sum(off**2) / off.size

    return loss


def autograd_primal(np: Any) -> Function:
    """A text for autograd, whose `fft2` has another signature, and which needs functions for the
    real and imaginary parts."""

    def loss(picture, masks, intensities):
        field = np.fft.fft2(masks * picture) / SIDE
        off = np.real(field) ** 2 + np.imag(field) ** 2 - intensities
        return np.sum(off**2) / (MASKS * SIDE * SIDE)

    return loss


def torch_primal(torch: Any) -> Function:
    def loss(picture, masks, intensities):
        field = torch.fft.fft2(masks * picture, norm="ortho")
        off = field.real**2 + field.imag**2 - intensities
        return torch.sum(off**2) / off.numel()

    return loss


def numpy_gradient(np: Any) -> Function:
    """The transform is unitary, so its adjoint is its inverse."""

    def gradient(picture, masks, intensities):
        field = np.fft.fft2(masks * picture, norm="ortho")
        off = field.real**2 + field.imag**2 - intensities
        back = np.fft.ifft2(off * field, norm="ortho")
        return 4.0 / off.size * np.sum((np.conj(masks) * back).real, axis=0)

    return gradient


def inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    picture = rng.uniform(0.0, 1.0, (SIDE, SIDE))
    masks = numpy.exp(2j * numpy.pi * rng.uniform(size=(MASKS, SIDE, SIDE)))
    field = numpy.fft.fft2(masks * rng.uniform(0.0, 1.0, (SIDE, SIDE)), norm="ortho")
    return picture, masks, field.real**2 + field.imag**2


WORKLOADS = (
    Workload(
        name="phase_retrieval",
        derivative_of=f"intensities of {MASKS} coded patterns of {SIDE} x {SIDE}, float64",
        dtype="float64",
        target=1.0,
        inputs=inputs,
        argnums=(0,),
        primal=primal,
        versions={
            "numba": not_written("Numba has no Fourier transforms"),
            "numpy": numpy_gradient,
            "torch": torch_primal,
            "autograd": autograd_primal,
        },
        # 5 n log n flops for each of two transforms of each pattern.
        limit=Limit(flops=2 * MASKS * 5 * SIDE * SIDE * 14, bytes_moved=MASKS * SIDE * SIDE * 24),
    ),
)
