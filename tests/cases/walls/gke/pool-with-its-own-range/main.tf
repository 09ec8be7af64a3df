terraform {
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 6.10"
    }
  }
}

provider "google" {
  project = "vision-lab"
}

locals {
  zone = "us-east4-c"

  pools = {
    system = { machine_type = "n2-standard-4", min = 3, max = 3, max_pods = null, pod_range = null, surge = 1 }
    l4     = { machine_type = "g2-standard-96", min = 0, max = 120, max_pods = 16, pod_range = "pods-gpu", surge = 2 }
  }
}

resource "google_compute_network" "this" {
  name                    = "trainer"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "this" {
  name          = "trainer"
  region        = "us-east4"
  network       = google_compute_network.this.self_link
  ip_cidr_range = "10.0.0.0/22"

  secondary_ip_range = [
    { range_name = "pods", ip_cidr_range = "10.4.0.0/20", reserved_internal_range = null },
    { range_name = "pods-gpu", ip_cidr_range = "10.4.16.0/20", reserved_internal_range = null },
    { range_name = "services", ip_cidr_range = "10.4.32.0/20", reserved_internal_range = null },
  ]
}

resource "google_container_cluster" "trainer" {
  name                     = "trainer"
  location                 = local.zone
  network                  = google_compute_network.this.self_link
  subnetwork               = google_compute_subnetwork.this.self_link
  remove_default_node_pool = true
  initial_node_count       = 1

  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }
}

resource "google_container_node_pool" "pools" {
  for_each          = local.pools
  name              = each.key
  cluster           = google_container_cluster.trainer.name
  location          = local.zone
  max_pods_per_node = each.value.max_pods

  autoscaling {
    min_node_count = each.value.min
    max_node_count = each.value.max
  }

  upgrade_settings {
    max_surge       = each.value.surge
    max_unavailable = 0
  }

  dynamic "network_config" {
    for_each = each.value.pod_range == null ? [] : [each.value.pod_range]
    content {
      pod_range = network_config.value
    }
  }

  node_config {
    machine_type = each.value.machine_type
  }
}
