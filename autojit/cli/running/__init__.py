"""Commands that run, check and time."""
