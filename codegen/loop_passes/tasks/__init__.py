"""Tasks for threads: what they cost, and the copies of memory that each has."""
