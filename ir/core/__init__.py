"""What both levels of the compiler share: passes, their order, and what is recorded of them."""
