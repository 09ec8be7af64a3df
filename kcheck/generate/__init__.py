"""An intent in; Terraform and manifests of a whole cluster out."""
