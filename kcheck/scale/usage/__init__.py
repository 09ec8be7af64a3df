"""Measured use of pods and nodes, matched with the code."""
