"""Convert a recorded run to delays in settings."""
