"""One trace from its arguments to its program, and the checks at its end."""
