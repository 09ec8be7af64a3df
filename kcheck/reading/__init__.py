"""Read a tree of files into an inventory: where Terraform and Kubernetes meet."""
