"""The define-by-run engine: it records operations and propagates gradients backward."""
