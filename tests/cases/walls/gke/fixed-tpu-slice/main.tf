provider "google" {
  project = "acme-tpu"
  region  = "us-west4"
}

resource "google_compute_network" "tpu" {
  name                    = "tpu"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "tpu" {
  name          = "tpu"
  network       = google_compute_network.tpu.id
  ip_cidr_range = "10.2.0.0/24"

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.3.0.0/17"
  }
  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = "10.3.128.0/20"
  }
}

resource "google_container_cluster" "tpu" {
  name                     = "tpu"
  location                 = "us-west4-a"
  network                  = google_compute_network.tpu.name
  subnetwork               = google_compute_subnetwork.tpu.name
  remove_default_node_pool = true
  initial_node_count       = 1

  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }
}

resource "google_container_node_pool" "cpu" {
  name       = "cpu"
  cluster    = google_container_cluster.tpu.name
  location   = google_container_cluster.tpu.location
  node_count = 2

  node_config {
    machine_type = "n2-standard-8"
  }
}

resource "google_container_node_pool" "v5e" {
  name       = "v5e-4x8"
  cluster    = google_container_cluster.tpu.name
  location   = google_container_cluster.tpu.location
  node_count = 8

  placement_policy {
    type         = "COMPACT"
    tpu_topology = "4x8"
  }

  node_config {
    machine_type = "ct5lp-hightpu-4t"
  }
}
