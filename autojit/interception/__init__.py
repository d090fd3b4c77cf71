"""What NumPy does not dispatch: names that are replaced while a function is traced."""
