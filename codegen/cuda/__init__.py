"""The GPU target: loop nests printed as readable numba.cuda Python source."""
