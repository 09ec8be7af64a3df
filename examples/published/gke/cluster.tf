# 1,000 nodes for a job of 10 minutes on GKE, as in 2021: its own autoscaler has profiles instead of flags.
terraform {
  required_version = ">= 1.6"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 7.0"
    }
  }
}

variable "autoscaling_profile" {
  type    = string
  default = "BALANCED"
}

variable "pools" {
  description = "Equal node pools that share 1,000 nodes"
  type        = number
  default     = 1
}

resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = "europe-west1"
  node_locations           = ["europe-west1-b"]
  min_master_version       = "1.20"
  remove_default_node_pool = true
  initial_node_count       = 1
  subnetwork               = google_compute_subnetwork.nodes.id
  network                  = google_compute_network.train.id

  cluster_autoscaling {
    autoscaling_profile = var.autoscaling_profile
  }

  ip_allocation_policy {
    cluster_ipv4_cidr_block = "10.64.0.0/13"
  }
}

resource "google_compute_network" "train" {
  name                    = "train"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "nodes" {
  name          = "nodes"
  region        = "europe-west1"
  network       = google_compute_network.train.id
  ip_cidr_range = "10.0.0.0/20"
}

resource "google_container_node_pool" "train" {
  count   = var.pools
  name    = "train-${count.index}"
  cluster = google_container_cluster.train.id

  autoscaling {
    min_node_count = 0
    max_node_count = 1000 / var.pools
  }

  node_config {
    machine_type = "e2-standard-2"
  }
}
