variable "cluster_cidr" {
  type        = string
  description = "Range for pods, from the network team"
}

resource "google_compute_network" "k3s" {
  name                    = "k3s"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "k3s" {
  name          = "k3s"
  region        = "us-central1"
  network       = google_compute_network.k3s.id
  ip_cidr_range = "10.0.0.0/24"
}

resource "google_compute_instance" "server" {
  name         = "k3s-server"
  zone         = "us-central1-a"
  machine_type = "e2-standard-8"
  boot_disk {
    initialize_params { image = "debian-cloud/debian-12" }
  }
  network_interface { subnetwork = google_compute_subnetwork.k3s.id }
  metadata_startup_script = "curl -sfL https://get.k3s.io | sh -s - server --token=$(cat /run/token) --cluster-cidr=${var.cluster_cidr}"
}

resource "google_compute_instance_template" "agent" {
  name_prefix  = "k3s-agent-"
  machine_type = "n1-standard-8"
  disk { source_image = "debian-cloud/debian-12" }
  network_interface { subnetwork = google_compute_subnetwork.k3s.id }
  guest_accelerator {
    type  = "nvidia-tesla-t4"
    count = 1
  }
  scheduling { on_host_maintenance = "TERMINATE" }
  metadata_startup_script = "curl -sfL https://get.k3s.io | K3S_URL=https://k3s-server:6443 K3S_TOKEN_FILE=/run/token sh -"
}

resource "google_compute_instance_group_manager" "agent" {
  name               = "k3s-agent"
  zone               = "us-central1-a"
  base_instance_name = "k3s-agent"
  version { instance_template = google_compute_instance_template.agent.id }
  update_policy {
    type                  = "PROACTIVE"
    minimal_action        = "REPLACE"
    max_surge_fixed       = 0
    max_unavailable_fixed = 3
  }
}

resource "google_compute_autoscaler" "agent" {
  name   = "k3s-agent"
  zone   = "us-central1-a"
  target = google_compute_instance_group_manager.agent.id
  autoscaling_policy {
    min_replicas = 2
    max_replicas = 150
    cpu_utilization { target = 0.6 }
  }
}
