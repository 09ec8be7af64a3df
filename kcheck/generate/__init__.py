"""A short intent in, a whole cluster out: Terraform and manifests that pass every rule, numbers with their reasons."""
