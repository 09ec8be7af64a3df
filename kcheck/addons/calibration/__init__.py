"""A recorded run in, its delays as settings out: events, metrics or a table of nodes."""
