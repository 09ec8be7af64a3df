provider "google" {
  project = var.project
  region  = var.region
  zone    = "${var.region}-b"
}

resource "google_compute_network" "sim" {
  name                    = "sim"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "sim" {
  name          = "sim"
  network       = google_compute_network.sim.id
  ip_cidr_range = cidrsubnet(var.range, 12, 0)

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = cidrsubnet(var.range, 4, 1)
  }
  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = cidrsubnet(var.range, 12, 1)
  }
}

resource "google_container_cluster" "sim" {
  name                      = "sim"
  location                  = "${var.region}-b"
  network                   = google_compute_network.sim.id
  subnetwork                = google_compute_subnetwork.sim.id
  default_max_pods_per_node = 64
  remove_default_node_pool  = true
  initial_node_count        = 1

  ip_allocation_policy {
    cluster_secondary_range_name  = google_compute_subnetwork.sim.secondary_ip_range[0].range_name
    services_secondary_range_name = google_compute_subnetwork.sim.secondary_ip_range[1].range_name
  }
}

resource "google_container_node_pool" "system" {
  name       = "system"
  cluster    = google_container_cluster.sim.id
  node_count = 5

  node_config {
    machine_type = "n2-standard-8"
  }
}

resource "google_container_node_pool" "rollout" {
  name    = "rollout"
  cluster = google_container_cluster.sim.id

  autoscaling {
    min_node_count  = 10
    max_node_count  = 1500
    location_policy = "ANY"
  }

  upgrade_settings {
    max_surge = 1
  }

  node_config {
    machine_type = "c3-standard-22"
    spot         = true
    labels       = { role = "rollout" }
  }
}
