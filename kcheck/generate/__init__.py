"""Write a whole cluster from a short intent: Terraform and manifests."""
