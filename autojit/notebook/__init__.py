"""What notebooks and pages show."""
