"""Scale an inventory to a target: node counts, addresses, placement, walls."""
