"""Functions of SciPy that do not dispatch to traced arrays, with SciPy's names and arguments."""
