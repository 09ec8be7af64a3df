"""AWS: EKS."""
