"""State of the process: transformed programs, background work, progress."""
