"""Which threads run which iterations: from the loop program to the device program.

    machine      what a card is, with sources, and the sizes of launches that follow
    structure    the loops of a kernel, and the parts around them; combining where threads may meet
    teams        how many threads share an iteration, and how many blocks a reduction
    cooperation  statements that the threads of a team run together, with barriers between them
    lanes        loops in turn for each of many elements: a thread an element
    staging      rows in shared memory
    scatters     updates whose order does not matter
    transposes   arrays read across their rows, in tiles
    vectors      neighbours that a thread reads and writes at once
    launches     the launches of one kernel, as they are made
    passes       reductions of rows and columns in two passes; few long rows by two kernels
    copies       a block's own copies of what all threads update
    prefix       sums so far: loops in turn that all blocks share
    kernels      elements, rows, reductions over the grid, matrices, and what runs in turn
    products     matrix products, and what follows them
    program      all steps of a program

Thresholds follow from the machine and say what pays; what is legal is checked where it is done.
"""
