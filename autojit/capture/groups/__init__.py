"""Groups of functions that call each other: by their names in bytecode, and in syntax trees."""
