"""Lennard-Jones energy: all pairs by broadcasting, which a fused loop need not store."""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload

ATOMS = 500


def primal(np: Any, special: Any) -> Function:
    def energy(positions):
        offsets = positions[:, None, :] - positions[None, :, :]
        # One on the diagonal keeps an atom's distance to itself from dividing by zero, and
        # 1/1 - 1/1 adds nothing to the energy.
        squared = np.sum(offsets**2, axis=-1) + np.eye(positions.shape[0])
        attraction = (1.0 / squared) ** 3
        return 2.0 * np.sum(attraction**2 - attraction)

    return energy


def torch_primal(torch: Any) -> Function:
    def energy(positions):
        offsets = positions[:, None, :] - positions[None, :, :]
        diagonal = torch.eye(positions.shape[0], dtype=positions.dtype)
        squared = torch.sum(offsets**2, dim=-1) + diagonal
        attraction = (1.0 / squared) ** 3
        return 2.0 * torch.sum(attraction**2 - attraction)

    return energy


def pytensor_primal(pt: Any) -> Function:
    return primal(pt, None)


def numpy_gradient(np: Any) -> Function:
    def gradient(positions):
        offsets = positions[:, None, :] - positions[None, :, :]
        inverse = 1.0 / (np.einsum("ijk,ijk->ij", offsets, offsets) + np.eye(len(positions)))
        attraction = inverse**3
        pull = 24.0 * inverse * (attraction - 2.0 * attraction**2)
        return np.einsum("ij,ijk->ik", pull, offsets)

    return gradient


def numba_version(numba: Any) -> tuple[Function, Function]:
    """Each coordinate is first copied to its own array, so that the loop over partners is
    vectorised.

    Each pair is visited from both ends: half of the work with scattered sums is slower.
    """
    options = {"parallel": True, "fastmath": {"contract", "reassoc"}, "error_model": "numpy"}

    @numba.njit(**options)
    def value(positions):
        n = positions.shape[0]
        xs, ys, zs = positions.T.copy()
        total = 0.0
        for i in numba.prange(n):
            x, y, z = xs[i], ys[i], zs[i]
            row = 0.0
            for j in range(n):
                dx, dy, dz = x - xs[j], y - ys[j], z - zs[j]
                inverse = 1.0 / (dx * dx + dy * dy + dz * dz + (1.0 if i == j else 0.0))
                attraction = inverse * inverse * inverse
                row += attraction * attraction - attraction
            total += row
        return 2.0 * total

    @numba.njit(**options)
    def gradient(positions):
        n = positions.shape[0]
        xs, ys, zs = positions.T.copy()
        result = numpy.empty_like(positions)
        for i in numba.prange(n):
            x, y, z = xs[i], ys[i], zs[i]
            gx = gy = gz = 0.0
            for j in range(n):
                dx, dy, dz = x - xs[j], y - ys[j], z - zs[j]
                inverse = 1.0 / (dx * dx + dy * dy + dz * dz + (1.0 if i == j else 0.0))
                attraction = inverse * inverse * inverse
                pull = inverse * attraction * (1.0 - 2.0 * attraction)
                gx += pull * dx
                gy += pull * dy
                gz += pull * dz
            result[i, 0] = 24.0 * gx
            result[i, 1] = 24.0 * gy
            result[i, 2] = 24.0 * gz
        return result

    return value, gradient


def inputs() -> Arrays:
    """A perturbed cubic lattice: no pair is so close that its repulsion dominates the sum."""
    side = 8
    lattice = numpy.stack(numpy.meshgrid(*[numpy.arange(side)] * 3, indexing="ij"), axis=-1)
    shake = numpy.random.default_rng(0).uniform(-0.1, 0.1, (ATOMS, 3))
    return (1.2 * lattice.reshape(-1, 3)[:ATOMS] + shake,)


WORKLOADS = (
    Workload(
        name="lennard_jones",
        derivative_of=f"Lennard-Jones energy of {ATOMS} atoms, all pairs",
        dtype="float64",
        target=3.0,
        inputs=inputs,
        argnums=(0,),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "torch": torch_primal,
            "pytensor": pytensor_primal,
        },
        # 21 flops per pair, each pair once; a division counts as one, so the limit is optimistic.
        limit=Limit(bytes_moved=48 * ATOMS, flops=21 * ATOMS * (ATOMS - 1) // 2),
    ),
)
