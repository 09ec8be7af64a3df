"""What a cluster did: recordings of Prometheus, joined to the code."""
