"""Reports of a bill."""
