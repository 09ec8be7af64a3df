provider "azurerm" {
  features {}
}

locals {
  location = "eastus"
  group    = "rg-hpc"
}

resource "azurerm_virtual_network" "hpc" {
  name                = "vnet-hpc"
  location            = local.location
  resource_group_name = local.group
  address_space       = ["10.5.0.0/24"]
}

resource "azurerm_subnet" "hpc" {
  name                 = "nodes"
  resource_group_name  = local.group
  virtual_network_name = azurerm_virtual_network.hpc.name
  address_prefixes     = ["10.5.0.0/25"]
}

resource "azurerm_kubernetes_cluster" "hpc" {
  name                = "hpc"
  location            = local.location
  resource_group_name = local.group
  dns_prefix          = "hpc"
  sku_tier            = "Standard"

  default_node_pool {
    name           = "system"
    vm_size        = "Standard_D8ds_v5"
    node_count     = 3
    vnet_subnet_id = azurerm_subnet.hpc.id
  }

  identity {
    type = "SystemAssigned"
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    outbound_type       = "userDefinedRouting"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "h100" {
  name                  = "h100"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.hpc.id
  vm_size               = "Standard_ND96isr_H100_v5"
  vnet_subnet_id        = azurerm_subnet.hpc.id
  node_count            = 4
  node_taints           = ["nvidia.com/gpu=present:NoSchedule"]

  upgrade_settings {
    max_surge = "1"
  }
}
