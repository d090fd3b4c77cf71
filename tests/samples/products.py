"""Products of vectors, matrices and stacks of them."""

from __future__ import annotations

import numpy as np

from tests.samples.kinds import (
    Sample,
    contraction,
    real,
)


def matmul(*shapes: tuple[int, ...]) -> Sample:
    name = " @ ".join(map(str, shapes))
    arguments = tuple(real(*shape) for shape in shapes)
    return Sample(name, np.matmul, arguments, lambda t, a, b: t.matmul(a, b), holomorphic=True)


def einsum(subscripts: str, *shapes: tuple[int, ...]) -> Sample:
    return contraction(
        f"einsum {subscripts}", lambda *arrays: np.einsum(subscripts, *arrays), *shapes
    )


CONTRACTIONS = [
    matmul((3,), (3,)), matmul((2, 3), (3,)), matmul((3,), (3, 2)), matmul((2, 3), (3, 4)),
    matmul((2, 3, 4), (4,)), matmul((4,), (2, 4, 3)), matmul((2, 3, 4), (4, 2)),
    matmul((3, 4), (2, 4, 2)), matmul((2, 3, 4), (2, 4, 2)), matmul((2, 1, 2, 3), (4, 3, 2)),
    matmul((1, 1), (1, 1)), matmul((2, 0), (0, 3)), matmul((16, 17), (17, 18)),
    contraction("operators", lambda a, b: (a @ b.T) @ b, (2, 3), (4, 3)),
    contraction("dot", np.dot, (2, 3), (3, 4)), contraction("dot 1-D", np.dot, (3,), (3,)),
    contraction("dot of stacks", np.dot, (2, 3, 4), (2, 4, 3)),
    contraction("dot of scalar", np.dot, (), (3,)),
    contraction("x.dot", lambda a, b: a.dot(b), (3,), (3,)),
    contraction("inner", np.inner, (2, 3), (4, 3)), contraction("inner scalar", np.inner, (3,), ()),
    contraction("outer", np.outer, (2,), (3,)), contraction("outer 2-D", np.outer, (2, 2), (3,)),
    contraction("tensordot", np.tensordot, (2, 3, 4), (3, 4, 2)),
    contraction("tensordot 1", lambda a, b: np.tensordot(a, b, axes=1), (2, 3), (3, 4)),
    contraction("tensordot 0", lambda a, b: np.tensordot(a, b, axes=0), (2,), (3,)),
    contraction("tensordot axes", lambda a, b: np.tensordot(a, b, axes=([0, 2], [1, 0])),
                (2, 3, 4), (4, 2, 3)),
    einsum("ij,jk->ik", (2, 3), (3, 4)), einsum("ij,jk", (2, 3), (3, 4)),
    einsum("bij,bjk->bik", (2, 3, 4), (2, 4, 3)), einsum("ij->ji", (2, 3)),
    einsum("ij->i", (2, 3)), einsum("ij->", (2, 3)), einsum("ii->i", (3, 3)), einsum("ii", (3, 3)),
    einsum("iij->ij", (2, 2, 3)), einsum("iii->", (2, 2, 2)), einsum("i,i->", (3,), (3,)),
    einsum("i,j->ij", (2,), (3,)), einsum("i,j->ji", (2,), (3,)),
    einsum("ij,ij->ij", (2, 3), (2, 3)),
    einsum("ij,j->i", (2, 3), (3,)), einsum("ik,jk->ij", (2, 3), (4, 3)),
    einsum("ijk,k->j", (2, 3, 4), (4,)), einsum("ii,ij->j", (2, 2), (2, 3)),
    einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), einsum("i,ij,j", (2,), (2, 3), (3,)),
    einsum("ij,kj,lj->ikl", (2, 3), (2, 3), (2, 3)), einsum("i,i,i->i", (3,), (3,), (3,)),
    einsum("...ij,...jk->...ik", (2, 2, 3), (2, 3, 2)), einsum("...i->...", (2, 3)),
    einsum("...ij,jk", (2, 2, 3), (3, 2)), einsum("b...,b->...", (2, 3, 2), (2,)),
    einsum("...i,...i->...", (2, 1, 3), (4, 3)),
    einsum("ij,jk->ki", (2, 1), (3, 2)),
    einsum("ab,cd->acbd", (2, 2), (3, 2)), einsum("i->", (3,)),
    einsum(" i j , j -> i ", (2, 3), (3,)),
]  # fmt: skip
