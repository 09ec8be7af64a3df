"""Turn an inventory and a target into sizes, walls, words and runs."""
