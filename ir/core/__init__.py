"""The foundation of ``ir``: types, programs, declarations, and the machine description."""
