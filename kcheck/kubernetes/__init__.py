"""Read YAML documents into objects and workloads. Knows no Terraform."""
