# Azure/avm-res-containerservice-managedcluster/azurerm below 0.4: azurerm resources, tier Standard, overlay.
variable "name" {
  type     = string
  nullable = false
}

variable "cluster_suffix" {
  type    = string
  default = ""
}

variable "location" {
  type     = string
  nullable = false
}

variable "kubernetes_version" {
  type    = string
  default = null
}

variable "automatic_upgrade_channel" {
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
  default = "Standard"
}

variable "network_profile" {
  type = object({
    network_plugin      = string
    network_data_plane  = optional(string)
    network_plugin_mode = optional(string)
    network_policy      = optional(string)
    outbound_type       = optional(string, "loadBalancer")
    pod_cidr            = optional(string)
    pod_cidrs           = optional(list(string))
    service_cidr        = optional(string)
    service_cidrs       = optional(list(string))
    load_balancer_sku   = optional(string)
    load_balancer_profile = optional(object({
      managed_outbound_ip_count = optional(number)
      outbound_ports_allocated  = optional(number)
    }))
  })
  default = {
    network_plugin      = "azure"
    network_policy      = "azure"
    network_plugin_mode = "overlay"
  }
}

variable "auto_scaler_profile" {
  type = object({
    empty_bulk_delete_max          = optional(string)
    expander                       = optional(string)
    max_node_provisioning_time     = optional(string)
    max_unready_nodes              = optional(string)
    max_unready_percentage         = optional(string)
    new_pod_scale_up_delay         = optional(string)
    scale_down_delay_after_add     = optional(string)
    scale_down_delay_after_failure = optional(string)
    scale_down_unneeded            = optional(string)
    scale_down_unready             = optional(string)
    scan_interval                  = optional(string)
    balance_similar_node_groups    = optional(string)
    max_graceful_termination_sec   = optional(string)
    scale_down_delay_after_delete  = optional(string)
    skip_nodes_with_local_storage  = optional(string)
    skip_nodes_with_system_pods    = optional(string)
  })
  default = null
}

variable "default_node_pool" {
  type = object({
    name                         = string
    vm_size                      = string
    auto_scaling_enabled         = optional(bool, false)
    node_count                   = optional(number)
    min_count                    = optional(number)
    max_count                    = optional(number)
    max_pods                     = optional(number)
    vnet_subnet_id               = optional(string)
    pod_subnet_id                = optional(string)
    zones                        = optional(list(string))
    node_labels                  = optional(map(string))
    only_critical_addons_enabled = optional(bool)
    os_disk_size_gb              = optional(number)
    os_disk_type                 = optional(string)
    upgrade_settings             = optional(object({ drain_timeout_in_minutes = optional(number), max_surge = string }))
  })
  nullable = false
}

variable "node_pools" {
  type = map(object({
    name                 = string
    vm_size              = string
    os_type              = optional(string, "Linux")
    auto_scaling_enabled = optional(bool, false)
    node_count           = optional(number)
    min_count            = optional(number)
    max_count            = optional(number)
    max_pods             = optional(number)
    vnet_subnet_id       = optional(string)
    pod_subnet_id        = optional(string)
    zones                = optional(list(string))
    node_labels          = optional(map(string))
    os_disk_size_gb      = optional(number)
    os_disk_type         = optional(string)
    upgrade_settings     = optional(object({ drain_timeout_in_minutes = optional(number), max_surge = string }))
    mode                 = optional(string)
    priority             = optional(string)
    node_taints          = optional(list(string))
  }))
  default = {}
}

variable "create_nodepools_before_destroy" {
  type     = bool
  default  = false
  nullable = false
}

resource "azurerm_kubernetes_cluster" "this" {
  name               = "${var.name}${var.cluster_suffix}"
  location           = var.location
  kubernetes_version = var.kubernetes_version
  sku_tier           = var.sku_tier

  automatic_upgrade_channel = var.automatic_upgrade_channel
  node_os_upgrade_channel   = var.node_os_channel_upgrade

  maintenance_window_auto_upgrade {
    frequency = try(var.maintenance_window_auto_upgrade.frequency, null)
  }

  maintenance_window_node_os {
    frequency = try(var.maintenance_window_node_os.frequency, null)
  }

  default_node_pool {
    name                         = var.default_node_pool.name
    vm_size                      = var.default_node_pool.vm_size
    auto_scaling_enabled         = var.default_node_pool.auto_scaling_enabled
    node_count                   = var.default_node_pool.node_count
    min_count                    = var.default_node_pool.min_count
    max_count                    = var.default_node_pool.max_count
    max_pods                     = var.default_node_pool.max_pods
    vnet_subnet_id               = var.default_node_pool.vnet_subnet_id
    pod_subnet_id                = var.default_node_pool.pod_subnet_id
    zones                        = var.default_node_pool.zones
    node_labels                  = var.default_node_pool.node_labels
    only_critical_addons_enabled = var.default_node_pool.only_critical_addons_enabled
    os_disk_size_gb              = var.default_node_pool.os_disk_size_gb
    os_disk_type                 = var.default_node_pool.os_disk_type

    dynamic "upgrade_settings" {
      for_each = var.default_node_pool.upgrade_settings == null ? [] : [var.default_node_pool.upgrade_settings]

      content {
        max_surge                = upgrade_settings.value.max_surge
        drain_timeout_in_minutes = upgrade_settings.value.drain_timeout_in_minutes
      }
    }
  }

  dynamic "auto_scaler_profile" {
    for_each = var.auto_scaler_profile == null ? [] : [var.auto_scaler_profile]

    content {
      empty_bulk_delete_max          = auto_scaler_profile.value.empty_bulk_delete_max
      expander                       = auto_scaler_profile.value.expander
      max_node_provisioning_time     = auto_scaler_profile.value.max_node_provisioning_time
      max_unready_nodes              = auto_scaler_profile.value.max_unready_nodes
      max_unready_percentage         = auto_scaler_profile.value.max_unready_percentage
      new_pod_scale_up_delay         = auto_scaler_profile.value.new_pod_scale_up_delay
      scale_down_delay_after_add     = auto_scaler_profile.value.scale_down_delay_after_add
      scale_down_delay_after_failure = auto_scaler_profile.value.scale_down_delay_after_failure
      scale_down_unneeded            = auto_scaler_profile.value.scale_down_unneeded
      scale_down_unready             = auto_scaler_profile.value.scale_down_unready
      scan_interval                  = auto_scaler_profile.value.scan_interval
      balance_similar_node_groups    = auto_scaler_profile.value.balance_similar_node_groups
      max_graceful_termination_sec   = auto_scaler_profile.value.max_graceful_termination_sec
      scale_down_delay_after_delete  = auto_scaler_profile.value.scale_down_delay_after_delete
      skip_nodes_with_local_storage  = auto_scaler_profile.value.skip_nodes_with_local_storage
      skip_nodes_with_system_pods    = auto_scaler_profile.value.skip_nodes_with_system_pods
    }
  }

  network_profile {
    network_plugin      = var.network_profile.network_plugin
    load_balancer_sku   = var.network_profile.load_balancer_sku
    network_data_plane  = var.network_profile.network_data_plane
    network_plugin_mode = var.network_profile.network_plugin_mode
    network_policy      = var.network_profile.network_policy
    outbound_type       = var.network_profile.outbound_type
    pod_cidr            = var.network_profile.pod_cidr
    pod_cidrs           = var.network_profile.pod_cidrs
    service_cidr        = var.network_profile.service_cidr
    service_cidrs       = var.network_profile.service_cidrs

    dynamic "load_balancer_profile" {
      for_each = var.network_profile.load_balancer_profile == null ? [] : [var.network_profile.load_balancer_profile]

      content {
        managed_outbound_ip_count = load_balancer_profile.value.managed_outbound_ip_count
        outbound_ports_allocated  = load_balancer_profile.value.outbound_ports_allocated
      }
    }
  }
}

# in the module these are in a submodule, and those created before destroy are a resource of their own
resource "azurerm_kubernetes_cluster_node_pool" "nodepools" {
  for_each = var.node_pools

  kubernetes_cluster_id = azurerm_kubernetes_cluster.this.id
  name                  = "${each.value.name}${var.create_nodepools_before_destroy ? substr(md5(uuid()), 0, 4) : ""}"
  vm_size               = each.value.vm_size
  os_type               = each.value.os_type
  auto_scaling_enabled  = each.value.auto_scaling_enabled
  node_count            = each.value.node_count
  min_count             = each.value.min_count
  max_count             = each.value.max_count
  max_pods              = each.value.max_pods
  vnet_subnet_id        = each.value.vnet_subnet_id
  pod_subnet_id         = each.value.pod_subnet_id
  zones                 = each.value.zones
  node_labels           = each.value.node_labels
  os_disk_size_gb       = each.value.os_disk_size_gb
  os_disk_type          = each.value.os_disk_type
  mode                  = each.value.mode
  priority              = each.value.priority
  node_taints           = each.value.node_taints

  dynamic "upgrade_settings" {
    for_each = each.value.upgrade_settings == null ? [] : [each.value.upgrade_settings]

    content {
      max_surge                = upgrade_settings.value.max_surge
      drain_timeout_in_minutes = upgrade_settings.value.drain_timeout_in_minutes
    }
  }
}

output "resource_id" {
  value = azurerm_kubernetes_cluster.this.id
}

output "name" {
  value = azurerm_kubernetes_cluster.this.name
}
