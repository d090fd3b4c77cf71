"""Passes of both levels of the compiler: their order, records and remarks."""
