# GoogleCloudPlatform/cluster-toolkit: modules/scheduler/gke-cluster.
variable "deployment_name" {
  type = string
}

variable "name_suffix" {
  type    = string
  default = ""
}

variable "prefix_with_deployment_name" {
  type    = bool
  default = true
}

variable "project_id" {
  type    = string
  default = null
}

variable "region" {
  type = string
}

variable "zone" {
  type    = string
  default = null
}

variable "cluster_availability_type" {
  type    = string
  default = "REGIONAL"
}

variable "network_id" {
  type = string
}

variable "subnetwork_self_link" {
  type = string
}

variable "pods_ip_range_name" {
  type    = string
  default = "pods"
}

variable "services_ip_range_name" {
  type    = string
  default = "services"
}

variable "networking_mode" {
  type    = string
  default = "VPC_NATIVE"
}

variable "min_master_version" {
  type    = string
  default = null
}

variable "default_max_pods_per_node" {
  type    = number
  default = null
}

variable "enable_private_nodes" {
  type    = bool
  default = true
}

variable "maintenance_start_time" {
  type    = string
  default = "09:00"
}

variable "master_ipv4_cidr_block" {
  type    = string
  default = "172.16.0.32/28"
}

variable "additional_networks" {
  type    = any
  default = []
}

variable "enable_multi_networking" {
  type    = bool
  default = null
}

variable "enable_dataplane_v2" {
  type    = bool
  default = null
}

variable "enable_gcfs" {
  type    = bool
  default = false
}

variable "autoscaling_profile" {
  type    = string
  default = "OPTIMIZE_UTILIZATION"
}

variable "cluster_autoscaling" {
  type    = any
  default = null
}

variable "upgrade_settings" {
  type = object({
    strategy        = string # needed where the rest is written
    max_surge       = optional(number, 0)
    max_unavailable = optional(number, 1)
  })
  default = { strategy = "SURGE" }
}

variable "system_node_pool_enabled" {
  type    = bool
  default = true
}

variable "system_node_pool_name" {
  type    = string
  default = "system"
}

variable "system_node_pool_node_count" {
  type = object({
    total_min_nodes = optional(number, 2)
    total_max_nodes = optional(number, 10)
  })
  default = {}
}

variable "system_node_pool_machine_type" {
  type    = string
  default = "e2-standard-4"
}

variable "system_node_pool_disk_size_gb" {
  type    = number
  default = 100
}

variable "system_node_pool_disk_type" {
  type    = string
  default = null
}

variable "system_node_pool_image_type" {
  type    = string
  default = "COS_CONTAINERD"
}

variable "system_node_pool_zones" {
  type    = list(string)
  default = null
}

variable "system_node_pool_kubernetes_labels" {
  type    = map(string)
  default = null
}

variable "system_node_pool_taints" {
  type    = list(object({ key = string, value = any, effect = string }))
  default = [{ key = "components.gke.io/gke-managed-components", value = true, effect = "NO_SCHEDULE" }]
}

locals {
  prefix           = var.prefix_with_deployment_name ? var.deployment_name : ""
  name             = join("-", compact([local.prefix, var.name_suffix]))
  zonal            = var.cluster_availability_type == "ZONAL"
  multi_networking = coalesce(var.enable_multi_networking, length(var.additional_networks) > 0)
}

resource "google_container_cluster" "gke_cluster" {
  name               = local.name
  project            = var.project_id
  location           = local.zonal ? var.zone : var.region
  regional           = !local.zonal # not of the provider: says what location would, where the region is not known
  node_locations     = var.system_node_pool_zones
  min_master_version = var.min_master_version
  networking_mode    = var.networking_mode
  network            = var.network_id
  subnetwork         = var.subnetwork_self_link
  datapath_provider  = coalesce(var.enable_dataplane_v2, local.multi_networking) ? "ADVANCED_DATAPATH" : "LEGACY_DATAPATH"

  default_max_pods_per_node = var.default_max_pods_per_node
  initial_node_count        = 1
  remove_default_node_pool  = true

  ip_allocation_policy {
    cluster_secondary_range_name  = var.pods_ip_range_name
    services_secondary_range_name = var.services_ip_range_name
  }

  dynamic "cluster_autoscaling" {
    for_each = var.cluster_autoscaling == null ? [] : [1]

    content {
      enabled             = true
      autoscaling_profile = var.autoscaling_profile
    }
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

  node_pool_defaults {
    node_config_defaults {
      gcfs_config {
        enabled = var.enable_gcfs
      }
    }
  }
}

resource "google_container_node_pool" "system_node_pools" {
  count = var.system_node_pool_enabled ? 1 : 0

  name           = var.system_node_pool_name
  cluster        = google_container_cluster.gke_cluster.self_link
  node_locations = var.system_node_pool_zones

  autoscaling {
    total_min_node_count = var.system_node_pool_node_count.total_min_nodes
    total_max_node_count = var.system_node_pool_node_count.total_max_nodes
  }

  upgrade_settings {
    strategy        = var.upgrade_settings.strategy
    max_surge       = var.upgrade_settings.max_surge
    max_unavailable = var.upgrade_settings.max_unavailable
  }

  node_config {
    machine_type = var.system_node_pool_machine_type
    disk_size_gb = var.system_node_pool_disk_size_gb
    disk_type    = var.system_node_pool_disk_type
    image_type   = var.system_node_pool_image_type
    labels       = var.system_node_pool_kubernetes_labels

    dynamic "taint" {
      for_each = var.system_node_pool_taints

      content {
        key    = taint.value.key
        value  = taint.value.value
        effect = taint.value.effect
      }
    }
  }
}

output "cluster_id" {
  value = google_container_cluster.gke_cluster.id
}
