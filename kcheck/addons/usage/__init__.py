"""What a cluster did: recordings of Prometheus in, bills and pages out."""
