"""HCL files to evaluated resources."""
