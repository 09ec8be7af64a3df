module "network" {
  source  = "Azure/avm-res-network-virtualnetwork/azurerm"
  version = "0.8.1"

  name                = "vnet"
  location            = "westeurope"
  resource_group_name = "rg"
  address_space       = ["10.1.0.0/16"]
}

module "nodes" {
  source  = "Azure/avm-res-network-virtualnetwork/azurerm//modules/subnet"
  version = "0.8.1"

  name             = "snet-aks"
  virtual_network  = { resource_id = module.network.resource.id }
  address_prefixes = ["10.1.1.0/24"]
}

module "spare" {
  source  = "Azure/avm-res-network-virtualnetwork/azurerm//modules/subnet"
  version = "~> 0.15"

  name             = "snet-spare"
  parent_id        = module.network.resource_id
  address_prefixes = ["10.1.2.0/24"]
}

resource "azurerm_kubernetes_cluster" "main" {
  name                = "main"
  location            = "westeurope"
  resource_group_name = "rg"
  dns_prefix          = "main"
  sku_tier            = "Standard"

  default_node_pool {
    name           = "system"
    vm_size        = "Standard_D4s_v5"
    node_count     = 260
    vnet_subnet_id = module.nodes.resource_id
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
  }

  identity {
    type = "SystemAssigned"
  }
}
