"""Nests of loops: their structure, and ways of reading memory in their iterations.

structure    the loops of a kernel, and the parts around them; atomic updates
staging      rows in shared memory
tapes        tapes of loops within an iteration, a part for each thread
contributions  what all iterations add to, summed up later
vectors      neighbours that a thread loads and stores at once
"""
