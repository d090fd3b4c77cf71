"""Linear algebra and sorting in native code."""
