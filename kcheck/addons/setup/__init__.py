"""Proposals of `kcheck init`: settings, a pre-commit hook, a CI job."""
