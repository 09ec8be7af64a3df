# GoogleCloudPlatform/cluster-toolkit: modules/network/multivpc.
variable "deployment_name" {
  type    = string
  default = "?"
}

variable "network_name_prefix" {
  type    = string
  default = ""
}

variable "network_count" {
  type    = number
  default = 4
}

locals {
  name = coalesce(replace(var.network_name_prefix, "_", "-"), replace(var.deployment_name, "_", "-"))
}

output "additional_networks" {
  value = [for at in range(var.network_count) : { network = "${local.name}-${at}", subnetwork = "${local.name}-${at}-subnet" }]
}
