"""Google Cloud: GKE."""
