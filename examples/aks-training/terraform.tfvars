# The big run in autumn: 1,000 nodes, 950 of them with GPUs.
gpu_max_nodes = 950
