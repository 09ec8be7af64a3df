# terraform-google-modules/network/google, subnets and subnets-beta, from 7.
variable "network_name" {
  type = string
}

variable "subnets_region" {
  type    = string
  default = null
}

variable "subnets" {
  type = list(object({ subnet_name = string, subnet_ip = string, subnet_region = optional(string), purpose = optional(string) }))
}

variable "secondary_ranges" {
  type    = map(list(object({ range_name = string, ip_cidr_range = optional(string) })))
  default = {}
}

resource "google_compute_subnetwork" "subnetwork" {
  for_each = { for s in var.subnets : "${coalesce(var.subnets_region, s.subnet_region, "undefined")}/${s.subnet_name}" => s }

  name          = each.value.subnet_name
  region        = var.subnets_region != null ? var.subnets_region : each.value.subnet_region
  network       = var.network_name
  ip_cidr_range = each.value.subnet_ip
  purpose       = each.value.purpose

  dynamic "secondary_ip_range" {
    for_each = lookup(var.secondary_ranges, each.value.subnet_name, [])
    content {
      range_name    = secondary_ip_range.value.range_name
      ip_cidr_range = secondary_ip_range.value.ip_cidr_range
    }
  }
}

output "subnets" {
  value = google_compute_subnetwork.subnetwork
}
