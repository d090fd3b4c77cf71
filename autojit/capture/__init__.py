"""Python's control flow on traced values, captured from the source of the user's functions."""
