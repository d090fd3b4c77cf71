"""Sample calls, one a line: the first dotted name in a line is the function that it is for."""
