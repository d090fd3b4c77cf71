"""The engine of define-by-run: what is recorded, and how gradients go back."""
