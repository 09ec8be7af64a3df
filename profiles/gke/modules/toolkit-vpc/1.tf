# GoogleCloudPlatform/cluster-toolkit: modules/network/vpc.
variable "deployment_name" {
  type = string
}

variable "region" {
  type = string
}

variable "network_name" {
  type    = string
  default = null
}

variable "subnetwork_name" {
  type    = string
  default = null
}

variable "network_address_range" {
  type    = string
  default = "10.0.0.0/9"
}

variable "default_primary_subnetwork_size" {
  type    = number
  default = 15
}

variable "subnetworks" {
  type    = list(map(string))
  default = []
}

variable "secondary_ranges" {
  type    = map(list(object({ range_name = string, ip_cidr_range = string })))
  default = {}
}

variable "secondary_ranges_list" {
  type    = list(object({ subnetwork_name = string, ranges = list(object({ range_name = string, ip_cidr_range = string })) }))
  default = []
}

variable "ips_per_nat" {
  type    = number
  default = 2
}

variable "enable_cloud_router" {
  type    = bool
  default = true
}

variable "enable_cloud_nat" {
  type    = bool
  default = true
}

locals {
  network_name = coalesce(var.network_name, "${replace(var.deployment_name, "_", "-")}-net")
  default_subnetwork = {
    subnet_name   = coalesce(var.subnetwork_name, "${replace(var.deployment_name, "_", "-")}-primary-subnet")
    subnet_ip     = cidrsubnet(var.network_address_range, var.default_primary_subnetwork_size, 0)
    subnet_region = var.region
  }
  subnetworks = length(var.subnetworks) > 0 ? var.subnetworks : [local.default_subnetwork]
  cidrs = try(
    [for subnet in local.subnetworks : subnet.subnet_ip],
    cidrsubnets(var.network_address_range, [for subnet in local.subnetworks : subnet.new_bits]...)
  )
  secondary_ranges = length(var.secondary_ranges_list) > 0 ? { for one in var.secondary_ranges_list : one.subnetwork_name => one.ranges } : var.secondary_ranges
  regions          = var.enable_cloud_router && var.enable_cloud_nat && var.ips_per_nat > 0 ? distinct([for subnet in local.subnetworks : subnet.subnet_region]) : []
}

resource "google_compute_network" "network" {
  name                    = local.network_name
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "subnetwork" {
  count = length(local.subnetworks)

  name          = local.subnetworks[count.index].subnet_name
  region        = local.subnetworks[count.index].subnet_region
  network       = google_compute_network.network.name
  ip_cidr_range = local.cidrs[count.index]

  dynamic "secondary_ip_range" {
    for_each = lookup(local.secondary_ranges, local.subnetworks[count.index].subnet_name, [])

    content {
      range_name    = secondary_ip_range.value.range_name
      ip_cidr_range = secondary_ip_range.value.ip_cidr_range
    }
  }
}

resource "google_compute_router_nat" "nat" {
  count = length(local.regions)

  region                 = local.regions[count.index]
  nat_ip_allocate_option = "MANUAL_ONLY"
  nat_ips                = [for i in range(var.ips_per_nat) : "${local.network_name}-nat-ips-${i}"]
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

output "subnetworks" {
  value = google_compute_subnetwork.subnetwork
}

output "subnetwork" {
  value = google_compute_subnetwork.subnetwork[0]
}

output "subnetwork_name" {
  value = google_compute_subnetwork.subnetwork[0].name
}

output "subnetwork_self_link" {
  value = google_compute_subnetwork.subnetwork[0].self_link
}

output "subnetwork_address" {
  value = google_compute_subnetwork.subnetwork[0].ip_cidr_range
}
