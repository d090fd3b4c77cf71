"""The loop program is mapped to the device program: threads get iterations.

    machine      the numbers of a card, with sources, and the sizes of launches
    nests        nests of loops: structure, rows in shared memory, neighbours at once
    teams        the number of threads per iteration, and of blocks per reduction
    cooperation  statements that the threads of a team run together, with barriers between them
    lanes        sequential loops for each of many elements, with one thread per element
    apart        sequential loops whose iterations touch nothing of each other
    scatters     updates whose order does not matter
    transposes   arrays read across their rows, in tiles
    launches     a list of the launches of one kernel, with helpers
    passes       reductions of rows and columns in two passes; few long rows by two kernels
    copies       copies per block of buffers that all threads update
    prefix       prefix sums: sequential loops that all blocks share
    meetings     other sequential loops, whose blocks wait for each other
    kernels      elements, rows, reductions over the grid, matrices, and sequential parts
    products     matrix products, and the elementwise steps after them
    program      all steps of a program

Thresholds follow from the machine and decide what pays. Each rewrite checks itself that it is
legal.
"""
