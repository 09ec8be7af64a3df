# GoogleCloudPlatform/cluster-toolkit: modules/compute/resource-policy.
variable "name" {
  type = string
}

variable "group_placement_max_distance" {
  type    = number
  default = 0
}

variable "workload_policy" {
  type    = object({ type = optional(string), accelerator_topology = optional(string) })
  default = {}
}

locals {
  compact = var.group_placement_max_distance > 0 || var.workload_policy.type != null
}

resource "google_compute_resource_policy" "policy" {
  name = var.name
}

output "placement_policy" {
  value = {
    type         = local.compact ? "COMPACT" : null
    name         = local.compact ? google_compute_resource_policy.policy.name : null
    tpu_topology = var.workload_policy.accelerator_topology
  }
}
