"""Linear algebra, sorting and Fourier transforms as loops: correct for every size and layout.

    builder     loop nests written by functions, with numbers that may be complex
    products    matrix products as plain loops
    triangular  LU, Cholesky, and solving with triangles
    cholesky    the derivative of the Cholesky factor
    orthogonal  QR
    jacobi      vectors made orthogonal by rotations
    spectral    eigenvalues of Hermitian matrices, singular values, pseudo-inverses
    ordering    argsort: ranks within short runs, then runs merged
    merging     the same by blocks, in shared memory
    butterflies transforms of a few numbers, and passes of them
    fourier     transforms in passes, as convolutions, and as sums
    expansion   the loops of a statement

Libraries of NVIDIA's are faster for large matrices (see ``libraries``); these loops need none, and
work in the body of a loop or a branch, too.
"""
