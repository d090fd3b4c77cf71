"""The entry of a program, and its module in parts."""
