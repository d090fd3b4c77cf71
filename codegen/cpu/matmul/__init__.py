"""Matrix products in native code."""
