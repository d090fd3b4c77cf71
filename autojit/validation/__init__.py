"""Detection of wrong numbers, and of their origin.

Checks find NaN and infinities, wrong derivatives, and compiled code that differs from the
interpreter. Each is traced back to the operation, the user's line or the pass.
"""
