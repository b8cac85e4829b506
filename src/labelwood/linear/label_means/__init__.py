"""Mean feature vectors of labels, and groups of labels with similar means."""

from labelwood.linear.label_means.groups import group_labels

__all__ = ["group_labels"]
