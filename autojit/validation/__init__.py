"""Numbers that cannot be right: NaN and infinities, wrong derivatives, code that computes otherwise
than the interpreter.  Each is traced back to the operation, the user's line or the pass."""
