"""Reports of a bill, one module per format."""
