"""HCL files in, evaluated resources out. Knows no Kubernetes."""
