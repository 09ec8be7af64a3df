resource "google_container_cluster" "train" {
  name     = "train"
  location = var.zone

  network    = google_compute_network.train.id
  subnetwork = google_compute_subnetwork.nodes.id

  remove_default_node_pool = true
  initial_node_count       = 1

  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = google_compute_subnetwork.nodes.secondary_ip_range[1].range_name
  }

  private_cluster_config {
    enable_private_nodes = true
  }
}

resource "google_container_node_pool" "system" {
  name       = "system"
  cluster    = google_container_cluster.train.id
  node_count = 3

  node_config {
    machine_type = "e2-standard-4"
  }
}

resource "google_container_node_pool" "cpu" {
  name    = "cpu"
  cluster = google_container_cluster.train.id

  autoscaling {
    min_node_count = 0
    max_node_count = var.cpu_max_nodes
  }

  node_config {
    machine_type = "n2-standard-32"
    spot         = true
  }
}

resource "google_container_node_pool" "gpu" {
  name              = "gpu"
  cluster           = google_container_cluster.train.id
  max_pods_per_node = 16

  autoscaling {
    total_min_node_count = 0
    total_max_node_count = 64
  }

  node_config {
    machine_type = "a3-highgpu-8g"

    taint {
      key    = "nvidia.com/gpu"
      value  = "present"
      effect = "NO_SCHEDULE"
    }
  }
}
