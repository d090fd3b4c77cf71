"""Interpolation, unwrapping of phases, convolution and correlation."""
