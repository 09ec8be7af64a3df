# Azure/aks/azurerm: what its versions from 9 on share. The autoscaler profile counts only when it is enabled.
variable "cluster_name" {
  type    = string
  default = null
}

variable "cluster_name_random_suffix" {
  type     = bool
  default  = false
  nullable = false
}

variable "kubernetes_version" {
  type    = string
  default = null
}

variable "private_cluster_enabled" {
  type    = bool
  default = false
}

variable "api_server_authorized_ip_ranges" {
  type    = set(string)
  default = null
}

variable "automatic_channel_upgrade" {
  type    = string
  default = null
}

variable "node_os_channel_upgrade" {
  type    = string
  default = null
}

variable "maintenance_window_auto_upgrade" {
  type    = any
  default = null
}

variable "maintenance_window_node_os" {
  type    = any
  default = null
}

variable "sku_tier" {
  type    = string
  default = "Free"
}

variable "ebpf_data_plane" {
  type    = string
  default = null
}

variable "network_plugin" {
  type     = string
  default  = "kubenet"
  nullable = false
}

variable "network_plugin_mode" {
  type    = string
  default = null
}

variable "network_policy" {
  type    = string
  default = null
}

variable "net_profile_outbound_type" {
  type    = string
  default = "loadBalancer"
}

variable "net_profile_pod_cidr" {
  type    = string
  default = null
}

variable "net_profile_service_cidr" {
  type    = string
  default = null
}

variable "load_balancer_sku" {
  type    = string
  default = "standard"
}

variable "load_balancer_profile_enabled" {
  type     = bool
  default  = false
  nullable = false
}

variable "load_balancer_profile_managed_outbound_ip_count" {
  type    = number
  default = null
}

variable "load_balancer_profile_outbound_ports_allocated" {
  type    = number
  default = 0
}

variable "auto_scaler_profile_enabled" {
  type     = bool
  default  = false
  nullable = false
}

variable "auto_scaler_profile_balance_similar_node_groups" {
  type    = bool
  default = false
}

variable "auto_scaler_profile_max_graceful_termination_sec" {
  type    = string
  default = "600"
}

variable "auto_scaler_profile_scale_down_delay_after_delete" {
  type    = string
  default = null
}

variable "auto_scaler_profile_skip_nodes_with_local_storage" {
  type    = bool
  default = true
}

variable "auto_scaler_profile_skip_nodes_with_system_pods" {
  type    = bool
  default = true
}

variable "auto_scaler_profile_empty_bulk_delete_max" {
  type    = number
  default = 10
}

variable "auto_scaler_profile_expander" {
  type    = string
  default = "random"
}

variable "auto_scaler_profile_max_node_provisioning_time" {
  type    = string
  default = "15m"
}

variable "auto_scaler_profile_max_unready_nodes" {
  type    = number
  default = 3
}

variable "auto_scaler_profile_max_unready_percentage" {
  type    = number
  default = 45
}

variable "auto_scaler_profile_new_pod_scale_up_delay" {
  type    = string
  default = "10s"
}

variable "auto_scaler_profile_scale_down_delay_after_add" {
  type    = string
  default = "10m"
}

variable "auto_scaler_profile_scale_down_delay_after_failure" {
  type    = string
  default = "3m"
}

variable "auto_scaler_profile_scale_down_unneeded" {
  type    = string
  default = "10m"
}

variable "auto_scaler_profile_scale_down_unready" {
  type    = string
  default = "20m"
}

variable "auto_scaler_profile_scan_interval" {
  type    = string
  default = "10s"
}

variable "agents_pool_name" {
  type     = string
  default  = "nodepool"
  nullable = false
}

variable "agents_size" {
  type    = string
  default = "Standard_D2s_v3"
}

variable "agents_count" {
  type    = number
  default = 2
}

variable "agents_min_count" {
  type    = number
  default = null
}

variable "agents_max_count" {
  type    = number
  default = null
}

variable "agents_max_pods" {
  type    = number
  default = null
}

variable "agents_pool_max_surge" {
  type    = string
  default = "10%"
}

variable "agents_pool_drain_timeout_in_minutes" {
  type    = number
  default = null
}

variable "agents_availability_zones" {
  type    = list(string)
  default = null
}

variable "agents_labels" {
  type    = map(string)
  default = {}
}

variable "only_critical_addons_enabled" {
  type    = bool
  default = null
}

variable "os_disk_size_gb" {
  type    = number
  default = 50
}

variable "os_disk_type" {
  type     = string
  default  = "Managed"
  nullable = false
}

resource "azurerm_kubernetes_cluster" "main" {
  name               = "${local.cluster_name}${var.cluster_name_random_suffix ? substr(md5(uuid()), 0, 4) : ""}"
  kubernetes_version = var.kubernetes_version
  sku_tier           = var.sku_tier
  successor          = "Azure/avm-res-containerservice-managedcluster/azurerm" # not of the provider: the module is retired

  private_cluster_enabled = var.private_cluster_enabled

  api_server_access_profile {
    authorized_ip_ranges = var.api_server_authorized_ip_ranges
  }

  automatic_upgrade_channel = var.automatic_channel_upgrade
  node_os_upgrade_channel   = var.node_os_channel_upgrade

  maintenance_window_auto_upgrade {
    frequency = try(var.maintenance_window_auto_upgrade.frequency, null)
  }

  maintenance_window_node_os {
    frequency = try(var.maintenance_window_node_os.frequency, null)
  }

  dynamic "auto_scaler_profile" {
    for_each = var.auto_scaler_profile_enabled ? ["enabled"] : []

    content {
      balance_similar_node_groups    = var.auto_scaler_profile_balance_similar_node_groups
      empty_bulk_delete_max          = var.auto_scaler_profile_empty_bulk_delete_max
      max_graceful_termination_sec   = var.auto_scaler_profile_max_graceful_termination_sec
      scale_down_delay_after_delete  = var.auto_scaler_profile_scale_down_delay_after_delete
      skip_nodes_with_local_storage  = var.auto_scaler_profile_skip_nodes_with_local_storage
      skip_nodes_with_system_pods    = var.auto_scaler_profile_skip_nodes_with_system_pods
      expander                       = var.auto_scaler_profile_expander
      max_node_provisioning_time     = var.auto_scaler_profile_max_node_provisioning_time
      max_unready_nodes              = var.auto_scaler_profile_max_unready_nodes
      max_unready_percentage         = var.auto_scaler_profile_max_unready_percentage
      new_pod_scale_up_delay         = var.auto_scaler_profile_new_pod_scale_up_delay
      scale_down_delay_after_add     = var.auto_scaler_profile_scale_down_delay_after_add
      scale_down_delay_after_failure = var.auto_scaler_profile_scale_down_delay_after_failure
      scale_down_unneeded            = var.auto_scaler_profile_scale_down_unneeded
      scale_down_unready             = var.auto_scaler_profile_scale_down_unready
      scan_interval                  = var.auto_scaler_profile_scan_interval
    }
  }
}

# the module has a second resource for pools with create_before_destroy = false, whose names get no suffix
resource "azurerm_kubernetes_cluster_node_pool" "node_pool_create_before_destroy" {
  for_each = var.node_pools

  kubernetes_cluster_id         = azurerm_kubernetes_cluster.main.id
  name                          = "${each.value.name}${each.value.create_before_destroy == true ? substr(md5(uuid()), 0, 4) : ""}"
  vm_size                       = each.value.vm_size
  mode                          = each.value.mode
  priority                      = each.value.priority
  node_count                    = each.value.node_count
  min_count                     = each.value.min_count
  max_count                     = each.value.max_count
  max_pods                      = each.value.max_pods
  zones                         = each.value.zones
  node_labels                   = each.value.node_labels
  node_taints                   = each.value.node_taints
  os_disk_size_gb               = each.value.os_disk_size_gb
  os_disk_type                  = each.value.os_disk_type
  os_type                       = each.value.os_type
  capacity_reservation_group_id = each.value.capacity_reservation_group_id

  dynamic "upgrade_settings" {
    for_each = each.value.upgrade_settings == null ? [] : [each.value.upgrade_settings]

    content {
      max_surge                = upgrade_settings.value.max_surge
      drain_timeout_in_minutes = upgrade_settings.value.drain_timeout_in_minutes
    }
  }
}

output "aks_id" {
  value = azurerm_kubernetes_cluster.main.id
}

output "aks_name" {
  value = azurerm_kubernetes_cluster.main.name
}

output "location" {
  value = azurerm_kubernetes_cluster.main.location
}
