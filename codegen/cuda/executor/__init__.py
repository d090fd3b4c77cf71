"""An executor runs device programs without a device; it is the reference for launches.

    launch      a kernel with all of its threads at once: a scalar is an array over the threads
    threads     the registers of all threads of some blocks, and their memory accesses
    coalescing  counts of sectors of memory, and of turns at banks of shared memory
    races       the last thread that touched each element since the last barrier
    words       the scalar vocabulary on arrays
    run         all launches of a program

Unwritten memory is poisoned, and a race between two threads is an error.
"""
