"""Which threads run which iterations: from the loop program to the device program.

machine      what a card is, with sources, and the sizes of launches that follow
structure    the loops of a kernel, and the parts around them
teams        how many threads share an iteration
cooperation  statements that the threads of a team run together, with barriers between them
kernels      elements, rows, reductions over the grid, and what runs in turn
columns      reductions across rows, in two passes
products     matrix products, in tiles
program      all steps of a program
"""
