"""Checks on a card that results are right, with measurements of speed.

programs    programs of each class of kernels
occupancy   registers of kernels, and the number of threads that run at a time
comparison  comparison of results, and measurement of times
driver      the driver layer: copies, numbers, failures, streams, threads, graphs
ceilings    the highest rates that the card, and the transfers to it, reach
page        the parts that need a source tree, and the page of results
supervised  items run in another process, which an item may end or hang
"""
