"""Measured use of pods and nodes, joined to the code."""
