"""Self-managed clusters."""
