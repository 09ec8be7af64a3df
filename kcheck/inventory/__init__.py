"""A tree in; clusters, pools and workloads out: where Terraform and Kubernetes meet."""
