"""Python's own control flow on traced values, captured from the source of functions."""
