"""Analyses of loop programs: dependences, values that cross tasks, and the verifier."""
