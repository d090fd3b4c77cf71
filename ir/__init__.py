"""The intermediate representation: programs, ops, transformations, passes."""
