"""Products on top of the core: only `commands` imports them, and each has its extra and its tests."""
