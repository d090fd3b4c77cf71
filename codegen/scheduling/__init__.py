"""From a program to a tree of fused loops: what is stored, where, and which loops compute it."""
