"""A tree of files in, an inventory out: where Terraform and Kubernetes meet."""
