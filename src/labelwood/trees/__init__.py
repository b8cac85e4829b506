"""Trees of many decisions: over labels and over features."""
