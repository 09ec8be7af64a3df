# Azure/aks/azurerm 10: subnets are objects with an id.
variable "location" {
  type = string
}

variable "prefix" {
  type    = string
  default = ""
}

variable "network_data_plane" {
  type    = string
  default = null
}

variable "net_profile_pod_cidrs" {
  type    = list(string)
  default = null
}

variable "net_profile_service_cidrs" {
  type    = list(string)
  default = null
}

variable "enable_auto_scaling" {
  type    = bool
  default = false
}

variable "vnet_subnet" {
  type    = object({ id = string })
  default = null
}

variable "pod_subnet" {
  type    = object({ id = string })
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
    vnet_subnet                   = optional(object({ id = string }))
    pod_subnet                    = optional(object({ id = string }))
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

locals {
  cluster_name = try(coalesce(var.cluster_name, trim("${var.prefix}-aks", "-")), "aks")
}

resource "azurerm_kubernetes_cluster" "main" {
  location = var.location

  default_node_pool {
    name                         = var.agents_pool_name
    vm_size                      = var.agents_size
    auto_scaling_enabled         = var.enable_auto_scaling
    node_count                   = var.enable_auto_scaling == true ? null : var.agents_count
    min_count                    = var.enable_auto_scaling == true ? var.agents_min_count : null
    max_count                    = var.enable_auto_scaling == true ? var.agents_max_count : null
    max_pods                     = var.agents_max_pods
    vnet_subnet_id               = try(var.vnet_subnet.id, null)
    pod_subnet_id                = try(var.pod_subnet.id, null)
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
    network_data_plane  = var.network_data_plane != null ? var.network_data_plane : var.ebpf_data_plane
    network_plugin      = var.network_plugin
    network_plugin_mode = var.network_plugin_mode
    network_policy      = var.network_policy
    outbound_type       = var.net_profile_outbound_type
    pod_cidr            = var.net_profile_pod_cidr
    pod_cidrs           = var.net_profile_pod_cidrs
    service_cidr        = var.net_profile_service_cidr
    service_cidrs       = var.net_profile_service_cidrs

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
  vnet_subnet_id       = try(each.value.vnet_subnet.id, null)
  pod_subnet_id        = try(each.value.pod_subnet.id, null)
}
