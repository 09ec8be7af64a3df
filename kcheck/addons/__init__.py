"""Products on top of the core: nothing imports them, and each has its command, its extra and its tests."""
