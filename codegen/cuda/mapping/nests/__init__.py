"""Nests of loops: their structure, and ways of reading memory in their iterations.

structure    the loops of a kernel, and the parts around them; atomic updates
staging      rows in shared memory
vectors      neighbours that a thread loads and stores at once
"""
