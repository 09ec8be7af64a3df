provider "azurerm" {
  features {}
}

variable "location" {
  type    = string
  default = "eastus2"
}

variable "pools" {
  type = map(object({
    size      = string
    min       = number
    max       = number
    max_surge = string
    taints    = optional(list(string), [])
  }))
}

resource "azurerm_resource_group" "this" {
  name     = "rg-vision"
  location = var.location
}

resource "azurerm_virtual_network" "this" {
  name                = "vnet-vision"
  location            = var.location
  resource_group_name = azurerm_resource_group.this.name
  address_space       = ["10.60.0.0/22"]
}

resource "azurerm_subnet" "nodes" {
  name                 = "nodes"
  resource_group_name  = azurerm_resource_group.this.name
  virtual_network_name = azurerm_virtual_network.this.name
  address_prefixes     = [cidrsubnet(one(azurerm_virtual_network.this.address_space), 2, 1)]
}

resource "azurerm_kubernetes_cluster" "this" {
  name                = "vision"
  location            = var.location
  resource_group_name = azurerm_resource_group.this.name
  dns_prefix          = "vision"
  sku_tier            = "Standard"

  default_node_pool {
    name                         = "system"
    vm_size                      = "Standard_D8ds_v5"
    node_count                   = 3
    vnet_subnet_id               = azurerm_subnet.nodes.id
    only_critical_addons_enabled = true

    upgrade_settings {
      max_surge = "1"
    }
  }

  identity {
    type = "SystemAssigned"
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    pod_cidr            = "192.168.0.0/17"
    service_cidr        = "10.2.0.0/16"
    dns_service_ip      = "10.2.0.10"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "pools" {
  for_each              = var.pools
  name                  = each.key
  kubernetes_cluster_id = azurerm_kubernetes_cluster.this.id
  vm_size               = each.value.size
  vnet_subnet_id        = azurerm_subnet.nodes.id
  auto_scaling_enabled  = each.value.min != each.value.max
  node_count            = each.value.min
  min_count             = each.value.min != each.value.max ? each.value.min : null
  max_count             = each.value.min != each.value.max ? each.value.max : null
  node_taints           = each.value.taints

  upgrade_settings {
    max_surge = each.value.max_surge
  }
}
