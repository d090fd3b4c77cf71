"""What calls, operators and lists need to know about traced numbers, ranges and choices."""
