# Names that are not known yet, counts as text, totals, a pool in fewer zones.
resource "random_string" "suffix" {
  length = 4
}

locals {
  subnet = "nodes-${random_string.suffix.result}"
}

variable "region" {
  type = string
}

module "network" {
  source  = "terraform-google-modules/network/google"
  version = "~> 12.0"

  project_id   = "p"
  network_name = "train"

  subnets = [
    {
      subnet_name   = local.subnet
      subnet_ip     = "10.0.0.0/20"
      subnet_region = var.region
    },
  ]

  secondary_ranges = {
    (local.subnet) = [
      { range_name = "pods", ip_cidr_range = "10.4.0.0/14" },
      { range_name = "gpu-pods", ip_cidr_range = "10.8.0.0/18" },
      { range_name = "services", ip_cidr_range = "10.9.0.0/20" },
    ]
  }
}

module "gke" {
  source  = "terraform-google-modules/kubernetes-engine/google"
  version = "~> 36.0"

  project_id        = "p"
  name              = "train"
  region            = var.region
  network           = module.network.network_name
  subnetwork        = module.network.subnets_names[0]
  ip_range_pods     = "pods"
  ip_range_services = "services"

  node_pools = [
    {
      name      = "cpu"
      min_count = "1"
      max_count = "200"
    },
    {
      name              = "gpu"
      machine_type      = "a2-highgpu-8g"
      node_locations    = "us-central1-a,us-central1-b"
      total_min_count   = 0
      total_max_count   = 64
      max_pods_per_node = 16
      pod_range         = "gpu-pods"
      strategy          = "BLUE_GREEN"
      spot              = true
    },
    {
      name               = "fixed"
      autoscaling        = false
      node_count         = 2
      accelerator_count  = 4
      initial_node_count = 1
    },
    { name = "default-sized" },
  ]
}
