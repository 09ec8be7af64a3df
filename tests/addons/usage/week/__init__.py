"""A week of a cluster that never was: its pods, what Prometheus saw of them, the code, and the truth."""
