"""Linear algebra, sorting and Fourier transforms as loops, correct for every size and layout.

    builder     helpers that write loop nests, with numbers that may be complex
    products    matrix products as plain loops
    triangular  LU, Cholesky, and triangular solves
    cholesky    the derivative of the Cholesky factor
    orthogonal  QR
    jacobi      orthogonalization of vectors by rotations
    spectral    eigenvalues of Hermitian matrices, singular values, pseudo-inverses
    ordering    sorting: ranks within short runs, then merges of runs
    merging     sorting by blocks, in shared memory
    butterflies Fourier transforms of a few numbers, and passes of them
    fourier     Fourier transforms in passes, as convolutions, and as sums
    expansion   the loops of a statement

NVIDIA's libraries are faster for large matrices (see ``libraries``).  These loops need no library,
and also work in the body of a loop or a branch.
"""
