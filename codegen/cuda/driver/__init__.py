"""The card: memory, copies, launches, graphs, through the functions of CUDA's driver.

prototypes   the functions that are called, as ``cuda.h`` declares them
library      where they come from: the driver, or Python functions in its place
simulated    such functions, over numba's CUDA simulator
memory       memory on a card, and the pool that it comes from
uploads      copies to a card from memory that may change at once
forks        processes in which the driver does not work
card         a card: context, copies, events, kernels, failures
extraction   one kernel of a generated module, with what it needs
assembly     PTX to machine code, or to PTX that an older driver knows
compiler     kernels to PTX by numba-cuda
entry        a table of launches run by one call, in machine code
launching    a program's table, or its CUDA graph
"""
