"""From a short intent, a whole cluster: Terraform and manifests that pass every rule, numbers with their reasons."""
