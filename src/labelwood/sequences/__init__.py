"""Hidden Markov models, and a monitor of streams."""
