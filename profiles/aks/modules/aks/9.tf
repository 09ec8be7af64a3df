# Azure/aks/azurerm 9: subnets by id, enable_auto_scaling.
variable "location" {
  type    = string
  default = null
}

variable "prefix" {
  type     = string
  default  = ""
  nullable = false
}

variable "enable_auto_scaling" {
  type    = bool
  default = false
}

variable "vnet_subnet_id" {
  type    = string
  default = null
}

variable "pod_subnet_id" {
  type    = string
  default = null
}

variable "node_pools" {
  type = map(object({
    name                          = string
    vm_size                       = string
    mode                          = optional(string, "User")
    priority                      = optional(string, "Regular")
    enable_auto_scaling           = optional(bool)
    node_count                    = optional(number)
    min_count                     = optional(number)
    max_count                     = optional(number)
    max_pods                      = optional(number)
    vnet_subnet_id                = optional(string)
    pod_subnet_id                 = optional(string)
    zones                         = optional(set(string))
    node_labels                   = optional(map(string))
    node_taints                   = optional(list(string))
    os_disk_size_gb               = optional(number)
    os_disk_type                  = optional(string, "Managed")
    os_type                       = optional(string, "Linux")
    upgrade_settings              = optional(object({ drain_timeout_in_minutes = optional(number), max_surge = string }))
    capacity_reservation_group_id = optional(string)
    create_before_destroy         = optional(bool, true)
  }))
  default  = {}
  nullable = false
}

variable "resource_group_name" {
  type = string
}

data "azurerm_resource_group" "main" {
  name = var.resource_group_name
}

locals {
  cluster_name = coalesce(var.cluster_name, trim("${var.prefix}-aks", "-"))
}

resource "azurerm_kubernetes_cluster" "main" {
  location = coalesce(var.location, data.azurerm_resource_group.main.location)

  default_node_pool {
    name                         = var.agents_pool_name
    vm_size                      = var.agents_size
    auto_scaling_enabled         = var.enable_auto_scaling
    node_count                   = var.enable_auto_scaling == true ? null : var.agents_count
    min_count                    = var.enable_auto_scaling == true ? var.agents_min_count : null
    max_count                    = var.enable_auto_scaling == true ? var.agents_max_count : null
    max_pods                     = var.agents_max_pods
    vnet_subnet_id               = var.vnet_subnet_id
    pod_subnet_id                = var.pod_subnet_id
    zones                        = var.agents_availability_zones
    node_labels                  = var.agents_labels
    only_critical_addons_enabled = var.only_critical_addons_enabled
    os_disk_size_gb              = var.os_disk_size_gb
    os_disk_type                 = var.os_disk_type

    dynamic "upgrade_settings" {
      for_each = var.agents_pool_max_surge == null ? [] : ["enabled"]

      content {
        max_surge                = var.agents_pool_max_surge
        drain_timeout_in_minutes = var.agents_pool_drain_timeout_in_minutes
      }
    }
  }

  network_profile {
    load_balancer_sku   = var.load_balancer_sku
    network_data_plane  = var.ebpf_data_plane
    network_plugin      = var.network_plugin
    network_plugin_mode = var.network_plugin_mode
    network_policy      = var.network_policy
    outbound_type       = var.net_profile_outbound_type
    pod_cidr            = var.net_profile_pod_cidr
    service_cidr        = var.net_profile_service_cidr

    dynamic "load_balancer_profile" {
      for_each = var.load_balancer_profile_enabled && var.load_balancer_sku == "standard" ? ["enabled"] : []

      content {
        managed_outbound_ip_count = var.load_balancer_profile_managed_outbound_ip_count
        outbound_ports_allocated  = var.load_balancer_profile_outbound_ports_allocated
      }
    }
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "node_pool_create_before_destroy" {
  auto_scaling_enabled = each.value.enable_auto_scaling
  vnet_subnet_id       = each.value.vnet_subnet_id
  pod_subnet_id        = each.value.pod_subnet_id
}
