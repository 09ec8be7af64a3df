# A cluster of GKE as the arguments of a module say whose code is not there: what is not written here is not known.
variable "given" {
  type    = list(string)
  default = []
}

variable "name" {
  type = string
}

variable "release" {
  type = string
}

variable "location" {
  type = string
}

variable "network" {
  type = string
}

variable "subnet" {
  type = string
}

variable "pod_range" {
  type = string
}

variable "service_range" {
  type = string
}

variable "pools" {
  type = any
}

variable "type" {
  type = string
}

variable "not_read" {
  type = any
}

resource "google_container_cluster" "this" {
  name               = var.name
  min_master_version = var.release
  location           = var.location
  network            = var.network
  subnetwork         = var.subnet

  ip_allocation_policy {
    cluster_secondary_range_name  = var.pod_range
    services_secondary_range_name = var.service_range
  }
}

# a count may be of each zone or of all: only a total is one
resource "google_container_node_pool" "this" {
  for_each = { for i, pool in var.pools : can(keys(var.pools)) ? i : try(pool.name, i) => pool if contains(var.given, "pools") }

  name    = try(each.value.name, each.key)
  cluster = google_container_cluster.this.name

  autoscaling {
    total_min_node_count = try(each.value.total_min_count, each.value.total_min_node_count, var.not_read)
    total_max_node_count = try(each.value.total_max_count, each.value.total_max_node_count, var.not_read)
    min_node_count       = var.not_read
    max_node_count       = var.not_read
  }

  node_config {
    machine_type = try(each.value.machine_type, each.value.node_config.machine_type, var.not_read)
    spot         = try(each.value.spot, each.value.node_config.spot, var.not_read)
  }

  network_config {
    accelerator_network_profile = var.not_read
  }
}

resource "google_container_node_pool" "only" {
  count = contains(var.given, "type") && !contains(var.given, "pools") ? 1 : 0

  cluster = google_container_cluster.this.name

  node_config {
    machine_type = var.type
  }

  network_config {
    accelerator_network_profile = var.not_read
  }
}

output "name" {
  value = google_container_cluster.this.name
}

output "cluster_name" {
  value = google_container_cluster.this.name
}
