# terraform-google-modules/kubernetes-engine: beta-autopilot-public-cluster and beta-autopilot-private-cluster.
variable "name" {
  type = string
}

variable "regional" {
  type    = bool
  default = true
}

variable "project_id" {
  type    = string
  default = null
}

variable "region" {
  type    = string
  default = null
}

variable "zones" {
  type    = list(string)
  default = []
}

variable "network" {
  type = string
}

variable "subnetwork" {
  type = string
}

variable "ip_range_pods" {
  type = string
}

variable "ip_range_services" {
  type    = string
  default = null
}

variable "enable_private_nodes" {
  type    = bool
  default = false
}

variable "maintenance_start_time" {
  type    = string
  default = "05:00"
}

variable "master_ipv4_cidr_block" {
  type    = string
  default = null
}

resource "google_container_cluster" "primary" {
  name             = var.name
  project          = var.project_id
  location         = var.regional ? var.region : var.zones[0]
  regional         = var.regional # not of the provider: what location says where the region is not known
  network          = var.network
  subnetwork       = var.subnetwork
  enable_autopilot = true

  ip_allocation_policy {
    cluster_secondary_range_name  = var.ip_range_pods
    services_secondary_range_name = var.ip_range_services
  }

  maintenance_policy {
    daily_maintenance_window {
      start_time = var.maintenance_start_time
    }
  }

  private_cluster_config {
    enable_private_nodes   = var.enable_private_nodes
    master_ipv4_cidr_block = var.master_ipv4_cidr_block
  }
}

output "cluster_id" {
  value = google_container_cluster.primary.id
}

output "name" {
  value = google_container_cluster.primary.name
}

output "location" {
  value = google_container_cluster.primary.location
}
