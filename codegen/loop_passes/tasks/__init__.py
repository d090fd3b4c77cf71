"""Tasks for threads: their cost, and their private copies of memory."""
