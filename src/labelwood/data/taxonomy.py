"""A forest of labels."""


class Taxonomy:
    """Labels in a forest."""
