"""Studies of supervised budgeted trees."""
