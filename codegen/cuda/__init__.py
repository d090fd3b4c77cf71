"""The GPU target: loop nests printed as readable numba.cuda Python source.

    structure    which loops run at the same time
    statements   a statement as a line of Python
    words        the scalar vocabulary; ``helpers`` are device functions for what is missing
    kernels      a thread an element, a block a row, or a tree over the grid
    products     matrix products, tiled (not yet by cuBLAS)
    source       the whole module, with the launches
    packaged     launches as the driver takes them
    runtime      running it: arguments, results, failures
    driver       CUDA's driver: memory, launches, graphs; or numba's simulator in its place, for
                 which ``simulator`` has the functions of ``math``
    arrays       arrays on a card; ``dlpack`` gives them to others, ``foreign`` takes theirs
    stages       the source and its PTX as text, without a GPU

Results do not depend on the order in which threads run, but for one case: scatters of
floats add up atomically, in any order, so their last digits may differ from call to call.
"""
