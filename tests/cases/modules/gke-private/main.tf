# Private nodes by default from 33 on; a zonal cluster of two zones; the subnet is not in this root.
module "gke" {
  source  = "terraform-google-modules/kubernetes-engine/google//modules/beta-private-cluster"
  version = "~> 35.0"

  project_id         = "p"
  name               = "train"
  regional           = false
  zones              = ["europe-west4-a", "europe-west4-b"]
  network            = "shared"
  subnetwork         = "shared-nodes"
  ip_range_pods      = "pods"
  ip_range_services  = "services"
  initial_node_count = 2

  cluster_autoscaling = {
    enabled             = false
    autoscaling_profile = "OPTIMIZE_UTILIZATION"
    gpu_resources       = []
    auto_repair         = true
    auto_upgrade        = true
  }

  node_pools = [{ name = "cpu", max_count = 10 }]
}
