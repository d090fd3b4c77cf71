"""Tools for `codegen/vector_math`: coefficients, errors, speed."""
