"""Studies of adaptive experiments (multi-armed bandits) and false discoveries."""
