# GoogleCloudPlatform/cluster-toolkit: modules/compute/gke-node-pool.
variable "cluster_id" {
  type = string
}

variable "internal_ghpc_module_id" {
  type = string
}

variable "name" {
  type    = string
  default = null
}

variable "zones" {
  type    = list(string)
  default = null
}

variable "machine_type" {
  type    = string
  default = "c2-standard-60"
}

variable "guest_accelerator" {
  type    = list(object({ type = optional(string), count = optional(number, 0) }))
  default = []
}

variable "disk_size_gb" {
  type    = number
  default = 100
}

variable "disk_type" {
  type    = string
  default = null
}

variable "image_type" {
  type    = string
  default = "COS_CONTAINERD"
}

variable "enable_gcfs" {
  type    = bool
  default = false
}

variable "spot" {
  type    = bool
  default = false
}

variable "static_node_count" {
  type    = number
  default = null
}

variable "autoscaling_total_min_nodes" {
  type    = number
  default = 0
}

variable "autoscaling_total_max_nodes" {
  type    = number
  default = 1000
}

variable "autoscaling_min_node_count" {
  type    = number
  default = null
}

variable "autoscaling_max_node_count" {
  type    = number
  default = null
}

variable "num_node_pools" {
  type    = number
  default = 1
}

variable "num_slices" {
  type    = number
  default = 1
}

variable "max_pods_per_node" {
  type    = number
  default = null
}

variable "kubernetes_labels" {
  type    = map(string)
  default = null
}

variable "taints" {
  type    = list(object({ key = string, value = any, effect = string }))
  default = []
}

variable "placement_policy" {
  type    = object({ type = optional(string), name = optional(string), tpu_topology = optional(string) })
  default = {}
}

variable "reservation_affinity" {
  type    = object({ consume_reservation_type = optional(string, "NO_RESERVATION") })
  default = {}
}

# without a default: what a module that is used passes on is not always known
variable "additional_networks" {
  type = list(any)
}

variable "enable_dranet" {
  type    = bool
  default = false
}

variable "upgrade_settings" {
  type = object({
    strategy        = string # needed where the rest is written
    max_surge       = optional(number, 0)
    max_unavailable = optional(number, 1)
  })
  default = { strategy = "SURGE" }
}

locals {
  count     = max(var.num_node_pools, var.num_slices)
  name      = coalesce(var.name, "${var.machine_type}-${replace(lower(var.internal_ghpc_module_id), "/[^a-z0-9\\-]/", "")}")
  has_gpu   = length(var.guest_accelerator) > 0 || can(regex("^(a2|a3|a4|a4x|g2|g4)-", var.machine_type))
  has_tpu   = can(regex("^(ct|tpu)", var.machine_type))
  gpu_taint = local.has_gpu ? [{ key = "nvidia.com/gpu", value = "present", effect = "NO_SCHEDULE" }] : []
  tpu_taint = local.has_tpu ? [{ key = "google.com/tpu", value = "present", effect = "NO_SCHEDULE" }] : []
  per_zone  = var.autoscaling_min_node_count != null || var.autoscaling_max_node_count != null
}

resource "google_container_node_pool" "node_pool" {
  count = local.count

  name              = local.count == 1 ? local.name : "${local.name}-${count.index}"
  cluster           = var.cluster_id
  node_locations    = var.zones
  node_count        = var.static_node_count
  max_pods_per_node = var.max_pods_per_node

  dynamic "autoscaling" {
    for_each = var.static_node_count == null ? [1] : []

    content {
      min_node_count       = var.autoscaling_min_node_count
      max_node_count       = var.autoscaling_max_node_count
      total_min_node_count = local.per_zone ? null : var.autoscaling_total_min_nodes
      total_max_node_count = local.per_zone ? null : var.autoscaling_total_max_nodes
      location_policy      = "ANY"
    }
  }

  upgrade_settings {
    strategy        = var.upgrade_settings.strategy
    max_surge       = var.upgrade_settings.max_surge
    max_unavailable = var.upgrade_settings.max_unavailable
  }

  dynamic "placement_policy" {
    for_each = var.placement_policy.type == null ? [] : [1]

    content {
      type         = var.placement_policy.type
      policy_name  = var.placement_policy.name
      tpu_topology = local.has_tpu ? var.placement_policy.tpu_topology : null
    }
  }

  network_config {
    accelerator_network_profile = var.enable_dranet ? "auto" : null

    dynamic "additional_node_network_configs" {
      for_each = var.additional_networks

      content {
        network    = additional_node_network_configs.value.network
        subnetwork = additional_node_network_configs.value.subnetwork
      }
    }
  }

  node_config {
    machine_type = var.machine_type
    disk_size_gb = var.disk_size_gb
    disk_type    = var.disk_type
    image_type   = var.image_type
    spot         = var.spot
    labels       = var.kubernetes_labels

    dynamic "guest_accelerator" {
      for_each = [for one in var.guest_accelerator : one if one.count > 0]

      content {
        type  = guest_accelerator.value.type
        count = guest_accelerator.value.count
      }
    }

    dynamic "taint" {
      for_each = concat(var.taints, local.gpu_taint, local.tpu_taint)

      content {
        key    = taint.value.key
        value  = taint.value.value
        effect = taint.value.effect
      }
    }

    dynamic "gcfs_config" {
      for_each = var.enable_gcfs ? [1] : []

      content {
        enabled = true
      }
    }

    reservation_affinity {
      consume_reservation_type = var.reservation_affinity.consume_reservation_type
    }
  }
}

output "node_pool_names" {
  value = google_container_node_pool.node_pool[*].name
}

output "cluster_id" {
  value = var.cluster_id
}

output "machine_type" {
  value = var.machine_type
}
