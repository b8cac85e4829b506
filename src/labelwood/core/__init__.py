"""The ground everything stands on: arrays, labels, random streams, threads, progress."""
