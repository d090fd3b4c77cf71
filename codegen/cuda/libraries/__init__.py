"""NVIDIA's libraries: products by cuBLASLt, factorizations by cuSOLVER, transforms by cuFFT.

They are loaded where they are installed, and their functions are called by address, on the card's
stream, in their place among the launches.

prototypes   the functions that are called, as their headers declare them
finding      where the libraries are: wheels, a toolkit, the system
session      what is open of them on one stream: handles, plans, errors
routines     routines of cuSOLVER and cuBLAS: sizes, the call, what it computes
gemm         products by cuBLASLt
transforms   transforms by cuFFT
reference    the same by NumPy and LAPACK
layouts      row-major operands as column-major ones
epilogues    what a product's call does besides
plans        a step of linear algebra as loops of ours and calls
factors      such plans for LU, Cholesky, QR, and solving
spectral     and for eigenvalues, singular values and transforms
cost         estimates of time, of ours and of theirs
choice       which of the two a step gets
"""
