"""An inventory and a target in; sizes, addresses, placement, walls, facts and simulated runs out."""
