"""Clusters, pools and subnets of each cloud: one folder for all that is its own."""
