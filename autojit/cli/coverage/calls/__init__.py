"""Sample calls, one per line: the first dotted name in a line is the function to test."""
