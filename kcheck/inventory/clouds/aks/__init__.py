"""Azure: AKS."""
