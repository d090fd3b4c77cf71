"""Objects that a part of a function may change: found, compared, put back."""
