"""Terragrunt: units of `terragrunt.hcl` files in, root modules with their inputs bound out. Nothing is executed."""
