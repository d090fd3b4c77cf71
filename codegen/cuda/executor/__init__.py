"""Device programs run without a device: the reference for launches.

    launch   a kernel, all of its threads at once: a scalar is an array over the threads
    threads  registers of all threads of some blocks, and what they touch in memory
    coalescing   sectors of memory that warps touch, and turns at banks
    races    which thread touched an element since the last barrier
    words    the scalar vocabulary on arrays
    run      all launches of a program

Memory that was not written is poisoned, and two threads that meet are an error.
"""
