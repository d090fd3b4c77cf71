"""Array elements that no later loop step changes: the derivative reads them after the loop."""
