"""YAML documents to Kubernetes objects."""
