"""The card: memory, copies, launches and graphs through the functions of CUDA's driver.

prototypes   the driver functions that are called, as ``cuda.h`` declares them
library      the source of these functions: the driver, or Python functions in its place
simulated    Python functions in the driver's place, over numba's CUDA simulator
memory       memory on a card, and the pool that it comes from
uploads      copies to a card from memory that may change at once
forks        forked processes, in which the driver does not work
card         a card: context, copies, events, kernels, failures
failures     flags of failures in kernels
extraction   one kernel of a generated module, with the definitions that it uses
assembly     PTX to machine code, or to PTX of a version that an older driver knows
compiler     kernels to PTX, then to machine code
nvvm         NVIDIA's compiler of LLVM IR to PTX
entry        a table of launches that one call runs, in machine code
launching    a program's table of launches, or its CUDA graphs
cards        the cards of this machine
"""
