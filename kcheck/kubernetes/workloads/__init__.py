"""Workloads of Kubernetes objects: pods, containers, and the scheduling of jobs."""
