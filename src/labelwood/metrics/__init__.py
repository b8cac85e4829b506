"""How good predictions are, and how sure that is."""
