"""Their tests and examples that do not run, and why."""

TESTS: dict[str, tuple[str, ...]] = {}
EXAMPLES: dict[str, str] = {}
