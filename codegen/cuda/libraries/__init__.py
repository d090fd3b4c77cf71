"""NVIDIA's libraries: products by cuBLASLt, factorizations by cuSOLVER, transforms by cuFFT.

They are loaded if they are installed. Their functions are called through ctypes, on the card's
stream, in order with the launches.

prototypes   the functions that are called, as their headers declare them
finding      the search for the libraries: wheels, a toolkit, the system
session      handles, plans and errors of the libraries on one stream
routines     routines of cuSOLVER and cuBLAS: sizes, the call, a reference for its results
gemm         products by cuBLASLt
transforms   transforms by cuFFT
reference    the same computations by NumPy and LAPACK
layouts      row-major operands as column-major ones
epilogues    a bias that a product's call adds
plans        a step of linear algebra as our loops and library calls
factors      plans for LU, Cholesky, QR, and solving
spectral     plans for eigenvalues, singular values and transforms
cost         estimates of time for our kernels and for the libraries
choice       the choice between the two for a step
"""
