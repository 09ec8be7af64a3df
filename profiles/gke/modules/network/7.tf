# terraform-google-modules/network/google: subnets with their secondary ranges, which are keyed by the subnet's name.
variable "network_name" {
  type = string
}

variable "auto_create_subnetworks" {
  type    = bool
  default = false
}

variable "subnets_region" {
  type    = string
  default = null
}

variable "subnets" {
  type = list(object({
    subnet_name   = string
    subnet_ip     = optional(string)
    subnet_region = optional(string)
  }))
  default = []
}

variable "secondary_ranges" {
  type    = map(list(object({ range_name = string, ip_cidr_range = optional(string) })))
  default = {}
}

locals {
  regions = [for subnet in var.subnets : var.subnets_region != null ? var.subnets_region : subnet.subnet_region]
  by_name = { for i, subnet in var.subnets : subnet.subnet_name => i }
  by_key  = { for i, subnet in var.subnets : "${local.regions[i]}/${subnet.subnet_name}" => i }
  # the module lists its subnets in the order of region/name
  in_order = length(distinct(local.regions)) == 1 ? values(local.by_name) : values(local.by_key)
  order    = length(var.subnets) <= 1 ? range(length(var.subnets)) : local.in_order
}

resource "google_compute_network" "network" {
  name                    = var.network_name
  auto_create_subnetworks = var.auto_create_subnetworks
}

# by index and not by region/name, so that a name that is not known yet does not hide its subnet
resource "google_compute_subnetwork" "subnetwork" {
  count = length(var.subnets)

  name          = var.subnets[count.index].subnet_name
  region        = local.regions[count.index]
  network       = google_compute_network.network.name
  ip_cidr_range = var.subnets[count.index].subnet_ip

  dynamic "secondary_ip_range" {
    for_each = lookup(var.secondary_ranges, var.subnets[count.index].subnet_name, [])

    content {
      range_name    = secondary_ip_range.value.range_name
      ip_cidr_range = secondary_ip_range.value.ip_cidr_range
    }
  }
}

output "network_name" {
  value = google_compute_network.network.name
}

output "network_id" {
  value = google_compute_network.network.id
}

output "network_self_link" {
  value = google_compute_network.network.self_link
}

output "subnets" {
  value = { for key, i in local.by_key : key => google_compute_subnetwork.subnetwork[i] }
}

output "subnets_names" {
  value = [for i in local.order : google_compute_subnetwork.subnetwork[i].name]
}

output "subnets_ids" {
  value = [for i in local.order : google_compute_subnetwork.subnetwork[i].id]
}

output "subnets_self_links" {
  value = [for i in local.order : google_compute_subnetwork.subnetwork[i].self_link]
}

output "subnets_ips" {
  value = [for i in local.order : google_compute_subnetwork.subnetwork[i].ip_cidr_range]
}

output "subnets_regions" {
  value = [for i in local.order : local.regions[i]]
}

output "subnets_secondary_ranges" {
  value = [for i in local.order : google_compute_subnetwork.subnetwork[i].secondary_ip_range]
}
