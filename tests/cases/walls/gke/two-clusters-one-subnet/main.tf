provider "google" {
  project = var.project_id
  region  = "europe-west4"
}

variable "project_id" {
  type    = string
  default = "acme-platform"
}

resource "google_compute_network" "shared" {
  name                    = "shared"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "shared" {
  name          = "shared-ew4"
  network       = google_compute_network.shared.name
  region        = "europe-west4"
  ip_cidr_range = "10.20.0.0/25"

  dynamic "secondary_ip_range" {
    for_each = {
      batch-pods = "10.32.0.0/17"
      batch-svc  = "10.33.0.0/20"
      train-pods = "10.32.128.0/17"
      train-svc  = "10.33.16.0/20"
    }
    content {
      range_name    = secondary_ip_range.key
      ip_cidr_range = secondary_ip_range.value
    }
  }
}

module "batch" {
  source            = "terraform-google-modules/kubernetes-engine/google"
  version           = "~> 36.0"
  project_id        = var.project_id
  name              = "batch"
  regional          = false
  region            = "europe-west4"
  zones             = ["europe-west4-a"]
  network           = google_compute_network.shared.name
  subnetwork        = google_compute_subnetwork.shared.name
  ip_range_pods     = "batch-pods"
  ip_range_services = "batch-svc"

  remove_default_node_pool = true
  node_pools = [
    { name = "workers", machine_type = "n2-standard-16", autoscaling = false, node_count = 20 },
  ]
}

module "train" {
  source            = "terraform-google-modules/kubernetes-engine/google"
  version           = "~> 36.0"
  project_id        = var.project_id
  name              = "train"
  regional          = false
  region            = "europe-west4"
  zones             = ["europe-west4-a"]
  network           = google_compute_network.shared.name
  subnetwork        = google_compute_subnetwork.shared.name
  ip_range_pods     = "train-pods"
  ip_range_services = "train-svc"

  remove_default_node_pool = true
  node_pools = [
    { name = "system", machine_type = "e2-standard-4", autoscaling = false, node_count = 2 },
    { name = "a100", machine_type = "a2-highgpu-1g", accelerator_type = "nvidia-tesla-a100", accelerator_count = 1, min_count = 0, max_count = 150 },
  ]
}
