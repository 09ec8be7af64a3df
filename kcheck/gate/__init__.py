"""Findings in, what is new of them out: baseline, commits, comments; and how a repository turns that on."""
