"""Tools behind `codegen/vector_math`: its coefficients, its errors, its speed."""
