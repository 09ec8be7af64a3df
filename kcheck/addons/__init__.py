"""Products on top of the core, each with its own command, extra and tests."""
