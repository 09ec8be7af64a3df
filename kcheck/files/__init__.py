"""Paths in, files out: which of a tree are read, what of them is skipped, and how changes are written back."""
