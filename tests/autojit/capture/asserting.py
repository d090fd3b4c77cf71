"""Functions with `assert` in a module whose code pytest leaves as it is."""


def asserted(x):
    assert x > 0, f"not positive: {x}"
    return x


def asserted_value(x):
    assert x > 0, x
    return x
