name               = "train"
account            = "1234567890123456"
region             = "ap-southeast-1"
kubernetes_version = "1.36.2-aliyun.1" # supported until May 2027; ACK makes new clusters of the newest patch only: name that if there is a newer one

vpc_cidr = "10.0.0.0/20"

# Ranges of nodes and of pods, with one pod a node and those that Terway keeps idle, at the maxima of all pools,
# and 25 % on top: room to grow without new ranges.
zones = {
  a = { zone = "ap-southeast-1a", nodes = "10.0.12.0/24", pods = "10.0.0.0/22" }
  b = { zone = "ap-southeast-1b", nodes = "10.0.13.0/24", pods = "10.0.4.0/22" }
  c = { zone = "ap-southeast-1c", nodes = "10.0.14.0/24", pods = "10.0.8.0/22" }
}

service_cidr = "10.1.0.0/16"

training_machines = ["ecs.gn8v-8x.48xlarge"]

# 100 nodes in pools of up to 34: what ACK rates a pool of its cluster-autoscaler for, or more where the usual job needs them; pools come and go side by side.
# On-demand pools are in one zone each, so that a job of 16 nodes talks within it.
training_pools = {
  gpu-a1 = { zones = ["a"], nodes = 34 }
  gpu-b1 = { zones = ["b"], nodes = 33 }
  gpu-c1 = { zones = ["c"], nodes = 33 }
}

upgrade_percent = 33 # a third of a pool at a time: it is empty when it is upgraded, and one node at a time takes days

# 3: one in each of three zones; and one more node for the cluster's own pods for each 100 training nodes.
system_nodes = 4

docker_hub_images = {
  "library/busybox" = ".*"
}
