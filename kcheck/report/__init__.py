"""Results in, text out: one module a format, imported when it is asked for."""
