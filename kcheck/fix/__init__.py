"""Findings with changes in, edited files out, each proved by a second run."""
