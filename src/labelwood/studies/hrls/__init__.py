"""Studies of learning along a taxonomy."""
