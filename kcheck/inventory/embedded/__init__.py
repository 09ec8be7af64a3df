"""Kubernetes objects and Helm releases that Terraform code deploys, as the same trees as manifests."""
