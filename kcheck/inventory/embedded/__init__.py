"""Kubernetes objects and Helm releases in Terraform, as trees."""
