"""YAML documents in; objects, and the workloads that they are, out. Knows no Terraform."""
