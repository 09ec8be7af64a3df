"""Turn a tree into clusters, pools and workloads."""
