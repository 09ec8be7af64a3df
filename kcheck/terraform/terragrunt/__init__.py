"""Terragrunt: units as root modules with their inputs bound. Nothing is executed."""
