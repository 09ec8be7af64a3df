name               = "train"
project            = "my-project"
region             = "us-central1"
zones              = ["us-central1-a", "us-central1-b", "us-central1-c"]
kubernetes_version = "1.35" # the newest that every part of this is known to run with

# The nodes at their maxima, upgrades included, and 25 % on top: room to grow without new ranges.
# Of the pods' range each training node takes a /26, each other one a /24.
node_cidr    = "10.34.16.0/22"
pod_cidr     = "10.33.0.0/16"
service_cidr = "10.34.0.0/20" # as many Services as GKE makes room for by itself; it cannot be changed later
gpu_cidr     = "10.0.0.0/20"  # an address of each node in each of 4 networks
storage_cidr = "10.0.16.0/20" # Managed Lustre is in a network of Google's, which a peering joins to this one

# 573 nodes at 128 ports each, of the 64,512 of an address.
nat_addresses = 2

training_machines = {
  "a3-highgpu-8g" = {
    accelerator = "nvidia-h100-80gb"
    gpus        = 8
    local_ssds  = 16
    disk_type   = "pd-balanced"
    disk_size   = 100 # images and scratch data are on the local SSDs
  }
}

# 450 nodes in pools of up to 150. Pools of about 200 come and go side by side: 5 x 200 took a third of the time of 1 x 1,000.
# On-demand pools are in one zone each, so that a job of 64 nodes talks within it.
training_pools = {
  gpu-a1 = { zones = ["us-central1-a"], machine = "a3-highgpu-8g", nodes = 150 }
  gpu-b1 = { zones = ["us-central1-b"], machine = "a3-highgpu-8g", nodes = 150 }
  gpu-c1 = { zones = ["us-central1-c"], machine = "a3-highgpu-8g", nodes = 150 }
}

# 3: one in each of three zones; and one more node for the cluster's own pods for each 100 training nodes.
system_nodes = 8
