cpu_max_nodes = 600
