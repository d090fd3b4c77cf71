"""What is run on a card to see that all is right, and how fast it is.

programs    programs of each class of kernels
occupancy   registers of kernels, and how many threads run at a time
comparison  what results are compared by, and times
driver      the way to the card: copies, numbers, failures, streams, threads, graphs
ceilings    what the card, and the way to it, reach at most
supervised  items run in another process, which one may end or hang
"""
