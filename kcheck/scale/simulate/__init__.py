"""Simulate a job on a cluster: its time, its cost, and the settings behind it."""
