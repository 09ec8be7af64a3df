"""Kubernetes objects and Helm releases that Terraform deploys, as the same trees as manifests."""
