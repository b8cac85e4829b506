"""One module for each file format; all give a `Dataset`."""
