"""Clusters, pools and subnets of each cloud, one folder a cloud."""
