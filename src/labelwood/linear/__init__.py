"""One sparse linear decision, and one for each label."""
