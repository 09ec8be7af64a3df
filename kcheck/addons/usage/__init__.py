"""Recordings of Prometheus in; bills and pages of what a cluster did out."""
