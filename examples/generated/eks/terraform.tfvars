name               = "train"
account            = "111122223333"
region             = "us-east-2"
kubernetes_version = "1.35" # the newest that every part of this is known to run with
api_ranges         = []     # the API server has a private address only

vpc_cidrs = ["10.0.0.0/17"]

# Private subnets hold 1,000 training nodes, upgrades included, with 8 addresses and one for the node each,
# and 25 % on top: room to grow, as a range in use cannot change.
zones = {
  a = { zone = "us-east-2a", private = "10.0.0.0/19", public = "10.0.96.0/26" }
  b = { zone = "us-east-2b", private = "10.0.32.0/19", public = "10.0.96.64/26" }
  c = { zone = "us-east-2c", private = "10.0.64.0/19", public = "10.0.96.128/26" }
}

service_cidr = "10.1.0.0/16"

training_machines = ["p5.48xlarge"]

# 1,000 nodes in pools of up to 234. Pools of about 200 keep the API quick: on GKE, 5 x 200 took 30 minutes, and 1 x 1,000 took 30 to 40.
# On-demand pools are in one zone each, so that a job of 128 nodes talks within it.
training_pools = {
  gpu-a1    = { zones = ["a"], nodes = 234 }
  gpu-b1    = { zones = ["b"], nodes = 233 }
  gpu-c1    = { zones = ["c"], nodes = 233 }
  gpu-spot1 = { zones = ["a", "b", "c"], nodes = 150, spot = true }
  gpu-spot2 = { zones = ["a", "b", "c"], nodes = 150, spot = true }
}

# 3: one in each of three zones; and one more node for the cluster's own pods for each 100 training nodes.
system_nodes = 13

# 1,000 MB/s for each TiB, and 0.60 US dollars for each GiB and month, used or not. Nodes of other zones reach it, too, and pay for traffic.
checkpoints = { zone = "a", capacity = 62400 }
