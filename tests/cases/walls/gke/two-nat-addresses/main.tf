provider "google" {
  project = "acme-rec"
  region  = "us-west1"
}

resource "google_compute_network" "rec" {
  name                    = "rec"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "rec" {
  name                     = "rec"
  network                  = google_compute_network.rec.id
  ip_cidr_range            = "10.8.0.0/22"
  private_ip_google_access = true

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.96.0.0/16"
  }
  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = "10.97.0.0/20"
  }
}

resource "google_compute_address" "nat" {
  count = 2
  name  = "rec-nat-${count.index}"
}

resource "google_compute_router" "rec" {
  name    = "rec"
  network = google_compute_network.rec.id
}

resource "google_compute_router_nat" "rec" {
  name                               = "rec"
  router                             = google_compute_router.rec.name
  nat_ip_allocate_option             = "MANUAL_ONLY"
  nat_ips                            = google_compute_address.nat[*].self_link
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}

resource "google_container_cluster" "rec" {
  name                     = "rec"
  location                 = "us-west1-b"
  network                  = google_compute_network.rec.id
  subnetwork               = google_compute_subnetwork.rec.id
  remove_default_node_pool = true
  initial_node_count       = 1

  private_cluster_config {
    enable_private_nodes    = true
    enable_private_endpoint = false
    master_ipv4_cidr_block  = "172.16.0.0/28"
  }

  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }
}

resource "google_container_node_pool" "system" {
  name       = "system"
  cluster    = google_container_cluster.rec.id
  node_count = 3
}

resource "google_container_node_pool" "t4" {
  name    = "t4"
  cluster = google_container_cluster.rec.id

  autoscaling {
    min_node_count = 0
    max_node_count = 180
  }

  upgrade_settings {
    max_surge       = 1
    max_unavailable = 0
  }

  node_config {
    machine_type = "n1-standard-16"
    guest_accelerator {
      type  = "nvidia-tesla-t4"
      count = 4
    }
  }
}
