"""Device programs run without a device: the reference for launches.

launch     a kernel, all of its threads at once: a scalar is an array over the threads
memory     buffers of the device, poisoned where nothing was written
races      which thread touched an element since the last barrier
words      the scalar vocabulary on arrays
run        all launches of a program
"""
