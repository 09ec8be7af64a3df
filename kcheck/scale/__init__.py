"""An inventory and a target in; nodes of each pool, addresses, placement and walls out."""
