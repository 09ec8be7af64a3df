"""An inventory and a target in; sizes, addresses, placement, walls, words and simulated runs out."""
