"""What everything stands on: types, shapes, programs, and what an op declares."""
