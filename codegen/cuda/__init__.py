"""The GPU target: loop programs as kernels over threads, printed as numba.cuda Python source.

    device_program  the work of threads, blocks and barriers, as data
    matrices        linear algebra, sorting and Fourier transforms as loops
    libraries       products, factorizations and transforms by NVIDIA's libraries
    mapping         which threads run which iterations
    printing        a kernel as a Python function
    translation     that function as LLVM IR
    executor        device programs run by NumPy: the reference for launches
    source          the whole module, with the launches
    packaged        launches in the form that the driver takes
    calling         calls of libraries; ``capturing`` mixes them with launches, also in CUDA graphs
    runtime         running the module: arguments, results, failures; ``tapes`` is the memory of
                    loops of unknown length
    direct          a call as one Python function, written for a program
    machines        the sizes of launches for a card
    driver          CUDA's driver: memory, launches, graphs; or numba's simulator instead, with the
                    missing parts from ``simulator``
    arrays          arrays on a card; ``dlpack`` exports them, ``foreign`` imports those of others
    refusals        lowering and printing, whose errors show how to use the CPU instead
    stages          the source and its PTX as text, without a GPU

Results do not depend on the order in which threads run, with one exception: scatters of floats with
few updates for each element add atomically, in any order, so their last digits may differ from call
to call.
"""
