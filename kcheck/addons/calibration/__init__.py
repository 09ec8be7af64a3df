"""Convert a recorded run (events, metrics or a table of nodes) to delays in settings."""
