"""Kubernetes objects to workloads, with their pods and containers, and to what decides when these run."""
