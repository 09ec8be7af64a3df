terraform {
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 6.30"
    }
  }
}

provider "google" {
  project = "acme-ml"
  region  = "us-central1"
}

resource "google_compute_network" "ml" {
  name                    = "ml"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "ml" {
  name          = "ml-us-central1"
  network       = google_compute_network.ml.id
  ip_cidr_range = "10.10.0.0/20"

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.64.0.0/16"
  }
  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = "10.10.16.0/20"
  }
}

resource "google_container_cluster" "llm" {
  name                     = "llm"
  location                 = "us-central1"
  node_locations           = ["us-central1-a", "us-central1-b", "us-central1-c"]
  network                  = google_compute_network.ml.id
  subnetwork               = google_compute_subnetwork.ml.id
  remove_default_node_pool = true
  initial_node_count       = 1
  deletion_protection      = false

  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }
}

resource "google_container_node_pool" "system" {
  name       = "system"
  cluster    = google_container_cluster.llm.id
  node_count = 1

  node_config {
    machine_type = "e2-standard-4"
  }
}

resource "google_container_node_pool" "h100" {
  name    = "h100"
  cluster = google_container_cluster.llm.id

  autoscaling {
    min_node_count = 0
    max_node_count = 100
  }

  upgrade_settings {
    max_surge       = 3
    max_unavailable = 0
  }

  node_config {
    machine_type = "a3-highgpu-8g"
    guest_accelerator {
      type  = "nvidia-h100-80gb"
      count = 8
      gpu_driver_installation_config {
        gpu_driver_version = "LATEST"
      }
    }
  }
}
