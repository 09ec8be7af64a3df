# hashicorp/subnets/cidr: ranges of a network, one after the other. One without a name is a gap.
variable "base_cidr_block" {
  type = string
}

variable "networks" {
  type = list(object({ name = string, new_bits = number }))
}

locals {
  ranges = cidrsubnets(var.base_cidr_block, var.networks[*].new_bits...)
}

output "network_cidr_blocks" {
  value = { for i, one in var.networks : one.name => local.ranges[i] if one.name != null }
}

output "networks" {
  value = [
    for i, one in var.networks :
    { name = one.name, new_bits = one.new_bits, cidr_block = one.name != null ? local.ranges[i] : null }
  ]
}

output "base_cidr_block" {
  value = var.base_cidr_block
}
