"""Terraform resources to clusters, pools and subnets: one module a cloud."""
