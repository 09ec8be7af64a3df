variable "project" {
  type    = string
  default = "acme-research"
}

variable "network" {
  type = string
}

variable "subnetwork" {
  type        = string
  description = "Subnetwork of the network team"
}

variable "pods_range" {
  type = string
}

variable "services_range" {
  type = string
}

provider "google" {
  project = var.project
}

resource "google_container_cluster" "research" {
  name             = "research"
  location         = "us-west1"
  enable_autopilot = true
  network          = var.network
  subnetwork       = var.subnetwork

  ip_allocation_policy {
    cluster_secondary_range_name  = var.pods_range
    services_secondary_range_name = var.services_range
  }

  release_channel {
    channel = "REGULAR"
  }
}
