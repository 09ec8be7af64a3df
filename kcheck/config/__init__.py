"""Settings and flags, checked against their schemas."""
