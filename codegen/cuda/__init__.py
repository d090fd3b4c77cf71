"""The GPU target: loop programs as kernels over threads, printed as numba.cuda Python source.

    device_program  what threads, blocks and barriers do, as data
    matrices        linear algebra, sorting and Fourier transforms as loops
    libraries       products, factorizations and transforms by NVIDIA's libraries
    mapping         which threads run which iterations
    printing        a kernel as a Python function
    executor        device programs run by NumPy: the reference for launches
    source          the whole module, with the launches
    packaged        launches as the driver takes them
    calling         calls of libraries; ``capturing`` has launches with calls among them, also as
                    CUDA graphs
    runtime         running it: arguments, results, failures; ``tapes`` is the memory of loops of
                    unknown length
    driver          CUDA's driver: memory, launches, graphs; or numba's simulator in its place, for
                    which ``simulator`` has what that lacks
    arrays          arrays on a card; ``dlpack`` gives them to others, ``foreign`` takes theirs
    stages          the source and its PTX as text, without a GPU

Results do not depend on the order in which threads run, but for one case: scatters of floats add up
atomically, in any order, so their last digits may differ from call to call.
"""
