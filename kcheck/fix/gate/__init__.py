"""Findings in, what is new of them out: baseline, commits, comments."""
