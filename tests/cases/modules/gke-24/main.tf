# A private cluster of the years before the module could count the nodes of all zones, with its network of that time.
module "network" {
  source  = "terraform-google-modules/network/google"
  version = "~> 5.2"

  project_id   = "acme"
  network_name = "train"
  subnets      = [{ subnet_name = "nodes", subnet_ip = "10.0.0.0/22", subnet_region = "europe-west4" }]

  secondary_ranges = {
    nodes = [
      { range_name = "pods", ip_cidr_range = "10.4.0.0/16" },
      { range_name = "services", ip_cidr_range = "10.8.0.0/20" },
    ]
  }
}

module "gke" {
  source  = "terraform-google-modules/kubernetes-engine/google//modules/private-cluster"
  version = "24.1.0"

  project_id               = "acme"
  name                     = "train"
  region                   = "europe-west4"
  zones                    = ["europe-west4-a", "europe-west4-b"]
  network                  = module.network.network_name
  subnetwork               = module.network.subnets_names[0]
  ip_range_pods            = "pods"
  ip_range_services        = "services"
  remove_default_node_pool = true

  node_pools = [
    { name = "gpu", machine_type = "a2-highgpu-8g", min_count = 0, max_count = 40, disk_type = "pd-ssd" },
    { name = "fixed", machine_type = "n2-standard-8", autoscaling = false, node_count = 3 },
  ]
}
