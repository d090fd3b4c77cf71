"""What lives as long as the process: transformed programs, background work, progress."""
