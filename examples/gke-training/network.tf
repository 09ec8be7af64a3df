resource "google_compute_network" "train" {
  name                    = "train"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "nodes" {
  name          = "nodes"
  region        = "us-central1"
  network       = google_compute_network.train.id
  ip_cidr_range = "10.0.0.0/22"

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.4.0.0/16"
  }

  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = "10.1.0.0/20"
  }
}
