terraform {
  required_providers {
    talos = {
      source  = "siderolabs/talos"
      version = "~> 0.9"
    }
  }
}

locals {
  pod_subnet = "10.244.0.0/19"
  workers    = 24
}

resource "talos_machine_secrets" "this" {}

data "talos_machine_configuration" "worker" {
  cluster_name     = "edge"
  cluster_endpoint = "https://10.5.0.10:6443"
  machine_type     = "worker"
  machine_secrets  = talos_machine_secrets.this.machine_secrets
  config_patches = [yamlencode({
    cluster = { network = { podSubnets = [local.pod_subnet], serviceSubnets = ["10.96.0.0/12"] } }
  })]
}

data "talos_machine_configuration" "controlplane" {
  cluster_name     = "edge"
  cluster_endpoint = "https://10.5.0.10:6443"
  machine_type     = "controlplane"
  machine_secrets  = talos_machine_secrets.this.machine_secrets
  config_patches = [yamlencode({
    cluster = { network = { podSubnets = [local.pod_subnet], serviceSubnets = ["10.96.0.0/12"] } }
  })]
}

resource "google_compute_network" "edge" {
  name                    = "edge"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "edge" {
  name          = "edge"
  region        = "europe-west4"
  network       = google_compute_network.edge.id
  ip_cidr_range = "10.5.0.0/24"
}

resource "google_compute_instance" "controlplane" {
  count        = 3
  name         = "edge-cp-${count.index}"
  zone         = "europe-west4-a"
  machine_type = "n2-standard-4"
  metadata     = { user-data = data.talos_machine_configuration.controlplane.machine_configuration }
  boot_disk {
    initialize_params { image = "example-project/talos-v1-11" }
  }
  network_interface { subnetwork = google_compute_subnetwork.edge.id }
}

resource "google_compute_instance" "worker" {
  count        = local.workers
  name         = "edge-gpu-${count.index}"
  zone         = "europe-west4-a"
  machine_type = "g2-standard-12"
  metadata     = { user-data = data.talos_machine_configuration.worker.machine_configuration }
  boot_disk {
    initialize_params { image = "example-project/talos-v1-11" }
  }
  network_interface { subnetwork = google_compute_subnetwork.edge.id }
  scheduling { on_host_maintenance = "TERMINATE" }
}
