# The big run in autumn: 1,000 nodes, 900 of them with GPUs.
gpu_max_nodes = 900
