name               = "train"
subscription_id    = "00000000-0000-0000-0000-000000000000"
region             = "southcentralus"
kubernetes_version = "1.35" # the newest that every part of this is known to run with

# The subnet has room for all nodes at their maxima, upgrades included, and 25 % on top:
# room to grow without new ranges. A node takes one address of it, and a /24 of pod_cidr.
network_cidr   = "10.0.0.0/20"
nodes_cidr     = "10.0.0.0/21"
api_cidr       = "10.0.9.0/26"
lustre_cidr    = "10.0.8.0/24"
pod_cidr       = "10.8.0.0/13"
service_cidr   = "10.1.0.0/16"
dns_service_ip = "10.1.0.10" # the tenth address, as AKS has it where nothing is written

lustre_capacity = 128 # TiB: 64,000 MB/s
lustre_zone     = "1"

# 128 ports a node: connections at a time to one place outside; shares and layers of images need none.
nat_prefix_length = 30 # 4 addresses; at least two, as Microsoft asks for large clusters

training_machine = "Standard_ND96isr_H100_v5"

# 1,000 nodes in pools of up to 100: a scale set with InfiniBand holds 100 machines, more on request.
# A job of 100 nodes has room in one pool: InfiniBand joins the nodes of one pool only, which is one scale set.
training_pools = {
  gpua1 = { zones = ["1"], nodes = 100 }
  gpua2 = { zones = ["1"], nodes = 100 }
  gpua3 = { zones = ["1"], nodes = 100 }
  gpua4 = { zones = ["1"], nodes = 34 }
  gpub1 = { zones = ["2"], nodes = 100 }
  gpub2 = { zones = ["2"], nodes = 100 }
  gpub3 = { zones = ["2"], nodes = 100 }
  gpub4 = { zones = ["2"], nodes = 33 }
  gpuc1 = { zones = ["3"], nodes = 100 }
  gpuc2 = { zones = ["3"], nodes = 100 }
  gpuc3 = { zones = ["3"], nodes = 100 }
  gpuc4 = { zones = ["3"], nodes = 33 }
}

system_nodes = 13 # 3: one in each of three zones; and one more node for the cluster's own pods for each 100 training nodes

registry_name = "train57be9df9" # the images' names begin with it: see kubernetes/
vault_name    = "train-57be9df9"
