"""Findings in; edited files out, each proved by a second run, and what of them is new."""
