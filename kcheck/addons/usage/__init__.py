"""Usage reports: Prometheus recordings in; bills and pages out."""
