"""Long loops over integers, and over slices, are captured, not unrolled."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import jit, trace


def checksum(data):
    crc = 0xFFFF
    for b in data:
        byte = 0xFF & b
        for _ in range(8):
            if (crc & 1) ^ (byte & 1):
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
            byte >>= 1
    return crc


def test_a_checksum_of_many_bytes_is_one_loop():
    data = np.random.default_rng(0).integers(0, 256, 500, dtype=np.uint8)
    assert len(trace(checksum)(data).ops) < 10
    assert jit(checksum)(data) == checksum(data)


def covariance(data):
    n = data.shape[1]
    out = np.zeros((n, n))
    for i in range(n):
        out[i:, i] = out[i, i:] = data[:, i] @ data[:, i:]
    return out


def test_slices_of_another_length_in_each_step_are_not_unrolled():
    data = np.random.default_rng(0).normal(size=(5, 60))
    assert len(trace(covariance)(data).ops) < 60
    np.testing.assert_allclose(jit(covariance)(data), data.T @ data, rtol=1e-12)


def last_that_holds(x):
    """Bind a name that a step may rebind or keep, and that no step reads."""
    found = -1
    for k in range(3000):
        if np.sin(x * k) > 0.999:
            found = k
    return found * x


def last_before(x):
    found, k = -1, 0
    while k < 50 * x:
        if np.sin(x * k) > 0.9:
            found = k
        k += 1
    return found * x


def last_of_two_loops(x):
    found = -1
    for i in range(60):
        for j in range(80):
            if np.sin(x * i + j) > 0.999:
                found = i + j
    return found * x


@pytest.mark.parametrize("f", [last_that_holds, last_before, last_of_two_loops])
def test_what_a_step_leaves_as_it_is_is_handed_on(f):
    compiled = jit(f)
    for x in (1.5, 0.3, 1e-6):
        assert compiled(x) == f(x)
