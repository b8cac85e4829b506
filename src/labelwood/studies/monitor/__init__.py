"""Studies of the stream monitor."""
