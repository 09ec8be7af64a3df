"""Findings in; edited files out, each proved by a second run; new findings selected."""
