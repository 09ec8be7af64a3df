# terraform-google-modules/kubernetes-engine: the root module, private-cluster, the beta variants and safer-cluster.
# They differ in what modules.yaml sets: private nodes, the range of the control plane, and `major`, the version that this
# stands for. The module takes any key in a pool of node_pools, and reads those that its version knows.
variable "major" {
  type    = number
  default = 44
}

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

variable "additional_ip_range_pods" {
  type    = list(string)
  default = []
}

variable "ip_range_services" {
  type    = string
  default = null
}

variable "kubernetes_version" {
  type    = string
  default = "latest"
}

variable "default_max_pods_per_node" {
  type    = number
  default = 110
}

variable "initial_node_count" {
  type    = number
  default = 0
}

variable "remove_default_node_pool" {
  type    = bool
  default = false
}

variable "enable_private_nodes" {
  type    = bool
  default = false
}

variable "enable_private_endpoint" {
  type    = bool
  default = null
}

variable "master_authorized_networks" {
  type    = list(object({ cidr_block = string, display_name = string }))
  default = []
}

variable "maintenance_start_time" {
  type    = string
  default = "05:00"
}

variable "master_ipv4_cidr_block" {
  type    = string
  default = null
}

variable "datapath_provider" {
  type    = string
  default = "DATAPATH_PROVIDER_UNSPECIFIED"
}

variable "cluster_autoscaling" {
  type = object({
    enabled             = optional(bool, false)
    autoscaling_profile = optional(string, "BALANCED")
    max_cpu_cores       = optional(number)
    max_memory_gb       = optional(number)
  })
  default = { enabled = false, autoscaling_profile = "BALANCED" }
}

variable "monitoring_enabled_components" {
  type    = list(string)
  default = []
}

variable "enable_gcfs" {
  type    = bool
  default = false
}

variable "node_pools" {
  type = list(object({
    name                       = string
    node_locations             = optional(string, "")
    autoscaling                = optional(bool, true)
    min_count                  = optional(number, 1)
    max_count                  = optional(number, 100)
    total_min_count            = optional(number)
    total_max_count            = optional(number)
    location_policy            = optional(string)
    node_count                 = optional(number, 1)
    machine_type               = optional(string, "e2-medium")
    image_type                 = optional(string, "COS_CONTAINERD")
    disk_size_gb               = optional(number, 100)
    disk_type                  = optional(string, "pd-standard")
    spot                       = optional(bool, false)
    preemptible                = optional(bool, false)
    accelerator_count          = optional(number, 0)
    accelerator_type           = optional(string, "")
    gpu_sharing_strategy       = optional(string, "")
    max_shared_clients_per_gpu = optional(number, 2)
    max_pods_per_node          = optional(number)
    pod_range                  = optional(string)
    placement_policy           = optional(string, "")
    strategy                   = optional(string, "SURGE")
    max_surge                  = optional(number, 1)
    max_unavailable            = optional(number, 0)
    enable_gcfs                = optional(bool)
    consume_reservation_type   = optional(string, "")
    queued_provisioning        = optional(bool, false)
    flex_start                 = optional(bool)

    local_ssd_count                   = optional(number, 0)
    local_ssd_ephemeral_storage_count = optional(number, 0)
    local_nvme_ssd_count              = optional(number, 0)
  }))
  default = [{ name = "default-node-pool" }]
}

variable "node_pools_labels" {
  type    = map(map(string))
  default = {}
}

variable "node_pools_taints" {
  type    = map(list(object({ key = string, value = string, effect = string })))
  default = {}
}

resource "google_container_cluster" "primary" {
  name               = var.name
  project            = var.project_id
  location           = var.regional ? var.region : var.zones[0]
  regional           = var.regional # not of the provider: says what location would, where the region is not known
  node_locations     = var.regional ? (length(compact(var.zones)) > 0 ? compact(var.zones) : null) : slice(var.zones, 1, length(var.zones))
  min_master_version = var.kubernetes_version == "latest" ? null : var.kubernetes_version
  network            = var.network
  subnetwork         = var.subnetwork
  datapath_provider  = var.datapath_provider

  default_max_pods_per_node = var.default_max_pods_per_node
  initial_node_count        = var.initial_node_count == 0 ? null : var.initial_node_count
  remove_default_node_pool  = var.remove_default_node_pool

  ip_allocation_policy {
    cluster_secondary_range_name  = var.ip_range_pods
    services_secondary_range_name = var.ip_range_services

    dynamic "additional_pod_ranges_config" {
      for_each = length(var.additional_ip_range_pods) > 0 ? [1] : []

      content {
        pod_range_names = var.additional_ip_range_pods
      }
    }
  }

  cluster_autoscaling {
    enabled             = var.cluster_autoscaling.enabled
    autoscaling_profile = var.cluster_autoscaling.autoscaling_profile

    dynamic "resource_limits" {
      for_each = var.cluster_autoscaling.enabled ? { cpu = var.cluster_autoscaling.max_cpu_cores, memory = var.cluster_autoscaling.max_memory_gb } : {}

      content {
        resource_type = resource_limits.key
        maximum       = resource_limits.value
      }
    }
  }

  dynamic "monitoring_config" {
    for_each = length(var.monitoring_enabled_components) > 0 ? [1] : []

    content {
      enable_components = var.monitoring_enabled_components
    }
  }

  maintenance_policy {
    daily_maintenance_window {
      start_time = var.maintenance_start_time
    }
  }

  private_cluster_config {
    enable_private_endpoint = var.enable_private_endpoint
    enable_private_nodes    = var.enable_private_nodes
    master_ipv4_cidr_block  = var.master_ipv4_cidr_block
  }

  dynamic "master_authorized_networks_config" {
    for_each = length(var.master_authorized_networks) > 0 ? [true] : []

    content {
      dynamic "cidr_blocks" {
        for_each = var.master_authorized_networks

        content {
          cidr_block = cidr_blocks.value.cidr_block
        }
      }
    }
  }

  node_pool_defaults {
    node_config_defaults {
      gcfs_config {
        enabled = var.enable_gcfs
      }
    }
  }
}

resource "google_container_node_pool" "pools" {
  for_each = { for i, pool in var.node_pools : try(pool.name, i) => pool }

  name              = each.value.name
  cluster           = google_container_cluster.primary.name
  node_locations    = each.value.node_locations == "" ? null : split(",", each.value.node_locations)
  max_pods_per_node = each.value.max_pods_per_node
  node_count        = each.value.autoscaling ? null : each.value.node_count

  dynamic "autoscaling" {
    for_each = each.value.autoscaling ? [1] : []

    content {
      min_node_count       = each.value.total_min_count != null ? null : each.value.min_count
      max_node_count       = each.value.total_max_count != null ? null : each.value.max_count
      total_min_node_count = each.value.total_min_count
      total_max_node_count = each.value.total_max_count
      location_policy      = each.value.location_policy
    }
  }

  dynamic "network_config" {
    for_each = each.value.pod_range == null ? [] : [1]

    content {
      pod_range = each.value.pod_range
    }
  }

  dynamic "placement_policy" {
    for_each = each.value.placement_policy == "" ? [] : [1]

    content {
      type = each.value.placement_policy
    }
  }

  dynamic "queued_provisioning" {
    for_each = var.major >= 31 && each.value.queued_provisioning ? [1] : []

    content {
      enabled = true
    }
  }

  dynamic "upgrade_settings" {
    for_each = contains(["SURGE", "BLUE_GREEN"], each.value.strategy) ? [1] : []

    content {
      strategy        = each.value.strategy
      max_surge       = each.value.strategy == "SURGE" ? each.value.max_surge : null
      max_unavailable = each.value.strategy == "SURGE" ? each.value.max_unavailable : null
    }
  }

  node_config {
    machine_type = each.value.machine_type
    image_type   = each.value.image_type
    disk_size_gb = each.value.disk_size_gb
    disk_type    = each.value.disk_type
    spot         = each.value.spot
    preemptible  = each.value.preemptible
    flex_start   = var.major >= 38 ? each.value.flex_start : null
    labels       = merge(lookup(var.node_pools_labels, "all", {}), lookup(var.node_pools_labels, each.value.name, {}))

    local_ssd_count = each.value.local_ssd_count

    dynamic "ephemeral_storage_local_ssd_config" {
      for_each = each.value.local_ssd_ephemeral_storage_count > 0 ? [1] : []

      content {
        local_ssd_count = each.value.local_ssd_ephemeral_storage_count
      }
    }

    dynamic "local_nvme_ssd_block_config" {
      for_each = each.value.local_nvme_ssd_count > 0 ? [1] : []

      content {
        local_ssd_count = each.value.local_nvme_ssd_count
      }
    }

    dynamic "gcfs_config" {
      for_each = each.value.enable_gcfs == null ? [] : [1]

      content {
        enabled = each.value.enable_gcfs
      }
    }

    dynamic "reservation_affinity" {
      for_each = (var.major >= 31 && each.value.queued_provisioning) || (var.major >= 33 && each.value.consume_reservation_type != "") ? [1] : []

      content {
        consume_reservation_type = each.value.queued_provisioning ? "NO_RESERVATION" : each.value.consume_reservation_type
      }
    }

    dynamic "guest_accelerator" {
      for_each = each.value.accelerator_count > 0 ? [1] : []

      content {
        type  = each.value.accelerator_type
        count = each.value.accelerator_count

        dynamic "gpu_sharing_config" {
          for_each = var.major >= 31 && each.value.gpu_sharing_strategy != "" ? [1] : []

          content {
            gpu_sharing_strategy       = each.value.gpu_sharing_strategy
            max_shared_clients_per_gpu = each.value.max_shared_clients_per_gpu
          }
        }
      }
    }

    dynamic "taint" {
      for_each = concat(lookup(var.node_pools_taints, "all", []), lookup(var.node_pools_taints, each.value.name, []))

      content {
        key    = taint.value.key
        value  = taint.value.value
        effect = taint.value.effect
      }
    }
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

output "region" {
  value = var.region
}
