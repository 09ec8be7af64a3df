"""Build a week of an imaginary cluster: its pods, the samples Prometheus has of them, its code, and the truth."""
