provider "azurerm" {
  features {}
}

data "azurerm_resource_group" "net" {
  name = "rg-hub-network"
}

data "azurerm_virtual_network" "hub" {
  name                = "vnet-hub"
  resource_group_name = data.azurerm_resource_group.net.name
}

data "azurerm_subnet" "pods" {
  name                 = "aks-pods"
  virtual_network_name = data.azurerm_virtual_network.hub.name
  resource_group_name  = data.azurerm_resource_group.net.name
}

resource "azurerm_subnet" "nodes" {
  name                 = "aks-nodes"
  resource_group_name  = data.azurerm_resource_group.net.name
  virtual_network_name = data.azurerm_virtual_network.hub.name
  address_prefixes     = ["10.12.4.0/26"]
}

resource "azurerm_kubernetes_cluster" "rl" {
  name                = "rl"
  location            = "northeurope"
  resource_group_name = "rg-rl"
  dns_prefix          = "rl"
  sku_tier            = "Standard"

  default_node_pool {
    name           = "system"
    vm_size        = "Standard_D4s_v5"
    node_count     = 2
    max_pods       = 30
    vnet_subnet_id = azurerm_subnet.nodes.id
    pod_subnet_id  = data.azurerm_subnet.pods.id

    upgrade_settings {
      max_surge = "1"
    }
  }

  identity {
    type = "SystemAssigned"
  }

  network_profile {
    network_plugin = "azure"
    outbound_type  = "userDefinedRouting"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "h100" {
  name                  = "h100"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.rl.id
  vm_size               = "Standard_NC40ads_H100_v5"
  max_pods              = 30
  vnet_subnet_id        = azurerm_subnet.nodes.id
  pod_subnet_id         = data.azurerm_subnet.pods.id
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 40

  upgrade_settings {
    max_surge = "1"
  }
}
