provider "google" {
  project = "acme-speech"
  region  = "us-central1"
}

data "google_compute_subnetwork" "shared" {
  name    = "ml-gke"
  project = "acme-net-host"
  region  = "us-central1"
}

resource "google_container_cluster" "speech" {
  name                     = "speech"
  location                 = "us-central1-a"
  network                  = data.google_compute_subnetwork.shared.network
  subnetwork               = data.google_compute_subnetwork.shared.self_link
  remove_default_node_pool = true
  initial_node_count       = 1

  ip_allocation_policy {
    cluster_secondary_range_name  = "gke-pods"
    services_secondary_range_name = "gke-services"
  }

  cluster_autoscaling {
    enabled             = true
    autoscaling_profile = "OPTIMIZE_UTILIZATION"

    resource_limits {
      resource_type = "cpu"
      minimum       = 24
      maximum       = 1500
    }
    resource_limits {
      resource_type = "memory"
      maximum       = 20000
    }
    resource_limits {
      resource_type = "nvidia-l4"
      maximum       = 128
    }
  }
}

resource "google_container_node_pool" "base" {
  name       = "base"
  cluster    = google_container_cluster.speech.id
  node_count = 3

  node_config {
    machine_type = "e2-standard-8"
  }
}

resource "google_container_node_pool" "l4" {
  name    = "l4"
  cluster = google_container_cluster.speech.id

  autoscaling {
    total_min_node_count = 0
    total_max_node_count = 60
    location_policy      = "ANY"
  }

  node_config {
    machine_type = "g2-standard-48"
    labels       = { pool = "l4" }
  }
}
