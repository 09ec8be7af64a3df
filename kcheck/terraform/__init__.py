"""Evaluate HCL into resources. Knows no Kubernetes."""
