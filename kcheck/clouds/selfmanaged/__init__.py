"""Clusters of one's own, by kubeadm."""
