"""The loop IR: nodes, affine forms, text, verifier, machine and cost models."""
