import numpy as np

from autojit import jit


def loss(w):
    return np.sum(w**2) * 100


@jit
def fast(w):
    return np.sum(w) * 200.0
