# Azure/avm-res-containerservice-managedcluster/azurerm from 0.4: azapi in the module, azurerm names here.
variable "api_server_access_profile" {
  type    = any
  default = null
}

variable "name" {
  type = string
}

variable "location" {
  type     = string
  nullable = false
}

variable "kubernetes_version" {
  type    = string
  default = null
}

variable "sku" {
  type = object({
    name = optional(string)
    tier = optional(string)
  })
  default = null
}

variable "network_profile" {
  type = object({
    network_plugin      = optional(string)
    network_plugin_mode = optional(string)
    network_policy      = optional(string)
    outbound_type       = optional(string)
    pod_cidr            = optional(string)
    pod_cidrs           = optional(list(string))
    service_cidr        = optional(string)
    service_cidrs       = optional(list(string))
    load_balancer_sku   = optional(string)
    network_dataplane   = optional(string)
    load_balancer_profile = optional(object({
      allocated_outbound_ports = optional(number)
      backend_pool_type        = optional(string)
      managed_outbound_ips     = optional(object({ count = optional(number) }))
    }))
  })
  default = null
}

variable "auto_scaler_profile" {
  type = object({
    max_empty_bulk_delete          = optional(string)
    expander                       = optional(string)
    max_node_provision_time        = optional(string)
    ok_total_unready_count         = optional(string)
    max_total_unready_percentage   = optional(string)
    new_pod_scale_up_delay         = optional(string)
    scale_down_delay_after_add     = optional(string)
    scale_down_delay_after_failure = optional(string)
    scale_down_unneeded_time       = optional(string)
    scale_down_unready_time        = optional(string)
    scan_interval                  = optional(string)
    balance_similar_node_groups    = optional(string)
    max_graceful_termination_sec   = optional(string)
    scale_down_delay_after_delete  = optional(string)
    skip_nodes_with_local_storage  = optional(string)
    skip_nodes_with_system_pods    = optional(string)
  })
  default = null
}

variable "default_agent_pool" {
  type = object({
    name                   = optional(string, "systempool")
    vm_size                = optional(string)
    enable_auto_scaling    = optional(bool)
    count_of               = optional(number, 3)
    min_count              = optional(number)
    max_count              = optional(number)
    max_pods               = optional(number)
    vnet_subnet_id         = optional(string)
    pod_subnet_id          = optional(string)
    pod_ip_allocation_mode = optional(string)
    availability_zones     = optional(list(string))
    node_labels            = optional(map(string))
    node_taints            = optional(list(string))
    os_disk_size_gb        = optional(number)
    os_disk_type           = optional(string)
    mode                   = optional(string)
    scale_set_priority     = optional(string)
    upgrade_settings       = optional(object({ drain_timeout_in_minutes = optional(number), max_surge = optional(string), max_unavailable = optional(string) }))
  })
  default  = {}
  nullable = false
}

variable "agent_pools" {
  type = map(object({
    name                   = string
    vm_size                = optional(string)
    os_type                = optional(string, "Linux")
    enable_auto_scaling    = optional(bool)
    count_of               = optional(number)
    min_count              = optional(number)
    max_count              = optional(number)
    max_pods               = optional(number)
    vnet_subnet_id         = optional(string)
    pod_subnet_id          = optional(string)
    pod_ip_allocation_mode = optional(string)
    availability_zones     = optional(list(string))
    node_labels            = optional(map(string))
    node_taints            = optional(list(string))
    os_disk_size_gb        = optional(number)
    os_disk_type           = optional(string)
    mode                   = optional(string)
    scale_set_priority     = optional(string)
    upgrade_settings       = optional(object({ drain_timeout_in_minutes = optional(number), max_surge = optional(string), max_unavailable = optional(string) }))
  }))
  default = {}
}

variable "create_agentpools_before_destroy" {
  type    = bool
  default = false
}

locals {
  automatic = try(var.sku.name, null) == "Automatic"
  # AKS Automatic gets little of what is written: the module drops the rest
  autoscaler = local.automatic || var.auto_scaler_profile == null ? [] : [var.auto_scaler_profile]
  balanced   = try(var.network_profile.outbound_type == "loadBalancer", true)
  written    = var.network_profile == null || (local.automatic && local.balanced) ? [] : [var.network_profile]
  network    = local.automatic && length(local.written) == 0 ? [null] : local.written
  pool       = var.default_agent_pool
  counted    = local.automatic || local.pool.max_count == null || local.pool.min_count == null
  surge      = local.automatic || local.pool.upgrade_settings == null ? [] : [local.pool.upgrade_settings]
}

# where no type of boot disk is written, AKS takes an ephemeral one if the machine has room for it
resource "azurerm_kubernetes_cluster" "this" {
  name               = var.name
  location           = var.location
  kubernetes_version = var.kubernetes_version
  sku_tier           = try(var.sku.tier, null)

  private_cluster_enabled = try(var.api_server_access_profile.enable_private_cluster, null)

  api_server_access_profile {
    authorized_ip_ranges = try(var.api_server_access_profile.authorized_ip_ranges, null)
  }

  default_node_pool {
    name                   = local.pool.name
    node_count             = local.counted ? local.pool.count_of : null
    vnet_subnet_id         = local.pool.vnet_subnet_id
    vm_size                = local.automatic ? null : local.pool.vm_size
    auto_scaling_enabled   = local.automatic ? null : local.pool.enable_auto_scaling
    min_count              = local.automatic ? null : local.pool.min_count
    max_count              = local.automatic ? null : local.pool.max_count
    max_pods               = local.automatic ? null : local.pool.max_pods
    pod_subnet_id          = local.automatic ? null : local.pool.pod_subnet_id
    pod_ip_allocation_mode = local.automatic ? null : local.pool.pod_ip_allocation_mode # not of azurerm
    zones                  = local.automatic ? null : local.pool.availability_zones
    node_labels            = local.automatic ? null : local.pool.node_labels
    node_taints            = local.automatic ? null : local.pool.node_taints
    os_disk_size_gb        = local.automatic ? null : local.pool.os_disk_size_gb
    os_disk_type           = local.automatic || local.pool.os_disk_type == null ? "Ephemeral" : local.pool.os_disk_type
    priority               = local.automatic ? null : local.pool.scale_set_priority

    dynamic "upgrade_settings" {
      for_each = local.surge

      content {
        max_surge                = upgrade_settings.value.max_surge
        max_unavailable          = upgrade_settings.value.max_unavailable
        drain_timeout_in_minutes = upgrade_settings.value.drain_timeout_in_minutes
      }
    }
  }

  dynamic "auto_scaler_profile" {
    for_each = local.autoscaler

    content {
      empty_bulk_delete_max          = auto_scaler_profile.value.max_empty_bulk_delete
      expander                       = auto_scaler_profile.value.expander
      max_node_provisioning_time     = auto_scaler_profile.value.max_node_provision_time
      max_unready_nodes              = auto_scaler_profile.value.ok_total_unready_count
      max_unready_percentage         = auto_scaler_profile.value.max_total_unready_percentage
      new_pod_scale_up_delay         = auto_scaler_profile.value.new_pod_scale_up_delay
      scale_down_delay_after_add     = auto_scaler_profile.value.scale_down_delay_after_add
      scale_down_delay_after_failure = auto_scaler_profile.value.scale_down_delay_after_failure
      scale_down_unneeded            = auto_scaler_profile.value.scale_down_unneeded_time
      scale_down_unready             = auto_scaler_profile.value.scale_down_unready_time
      scan_interval                  = auto_scaler_profile.value.scan_interval
      balance_similar_node_groups    = auto_scaler_profile.value.balance_similar_node_groups
      max_graceful_termination_sec   = auto_scaler_profile.value.max_graceful_termination_sec
      scale_down_delay_after_delete  = auto_scaler_profile.value.scale_down_delay_after_delete
      skip_nodes_with_local_storage  = auto_scaler_profile.value.skip_nodes_with_local_storage
      skip_nodes_with_system_pods    = auto_scaler_profile.value.skip_nodes_with_system_pods
    }
  }

  # AKS Automatic has node auto-provisioning and Azure CNI Overlay with Cilium, whatever is written
  dynamic "node_provisioning_profile" {
    for_each = local.automatic ? ["Auto"] : []

    content {
      mode = node_provisioning_profile.value
    }
  }

  dynamic "network_profile" {
    for_each = local.network

    content {
      load_balancer_sku   = local.automatic ? null : network_profile.value.load_balancer_sku
      network_data_plane  = local.automatic ? "cilium" : network_profile.value.network_dataplane
      network_plugin      = local.automatic ? "azure" : network_profile.value.network_plugin
      network_plugin_mode = local.automatic ? "overlay" : network_profile.value.network_plugin_mode
      network_policy      = local.automatic ? "cilium" : network_profile.value.network_policy
      outbound_type       = try(network_profile.value.outbound_type, null)
      pod_cidr            = try(network_profile.value.pod_cidr, null)
      pod_cidrs           = local.automatic ? null : network_profile.value.pod_cidrs
      service_cidr        = try(network_profile.value.service_cidr, null)
      service_cidrs       = local.automatic ? null : network_profile.value.service_cidrs

      dynamic "load_balancer_profile" {
        for_each = local.automatic ? [] : [for p in [network_profile.value.load_balancer_profile] : p if p != null]

        content {
          managed_outbound_ip_count = try(load_balancer_profile.value.managed_outbound_ips.count, null)
          outbound_ports_allocated  = load_balancer_profile.value.allocated_outbound_ports
          backend_pool_type         = load_balancer_profile.value.backend_pool_type
        }
      }
    }
  }
}

# in the module these are in a submodule, and those created before destroy are a resource of their own
resource "azurerm_kubernetes_cluster_node_pool" "nodepools" {
  for_each = var.agent_pools

  kubernetes_cluster_id  = azurerm_kubernetes_cluster.this.id
  name                   = "${each.value.name}${var.create_agentpools_before_destroy ? substr(sha256(uuid()), 0, 4) : ""}"
  mode                   = each.value.mode
  node_count             = each.value.max_count != null && each.value.min_count != null ? null : each.value.count_of
  vnet_subnet_id         = each.value.vnet_subnet_id
  vm_size                = each.value.vm_size
  os_type                = each.value.os_type
  auto_scaling_enabled   = each.value.enable_auto_scaling
  min_count              = each.value.min_count
  max_count              = each.value.max_count
  max_pods               = each.value.max_pods
  pod_subnet_id          = each.value.pod_subnet_id
  pod_ip_allocation_mode = each.value.pod_ip_allocation_mode
  zones                  = each.value.availability_zones
  node_labels            = each.value.node_labels
  node_taints            = each.value.node_taints
  os_disk_size_gb        = each.value.os_disk_size_gb
  os_disk_type           = each.value.os_disk_type == null ? "Ephemeral" : each.value.os_disk_type
  priority               = each.value.scale_set_priority

  dynamic "upgrade_settings" {
    for_each = each.value.upgrade_settings == null ? [] : [each.value.upgrade_settings]

    content {
      max_surge                = upgrade_settings.value.max_surge
      max_unavailable          = upgrade_settings.value.max_unavailable
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
