"""Passes of both levels of the compiler: their order, what is recorded of them, and remarks."""
