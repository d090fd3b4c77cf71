"""Functions of Python's numbers: conversions, orders, whole numbers, `math`, `statistics`."""
