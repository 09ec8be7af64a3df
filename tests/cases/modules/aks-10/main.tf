# Version 10 takes the subnet as an object; nothing is said about tier, plugin and profile.
resource "azurerm_virtual_network" "main" {
  name          = "train"
  address_space = ["10.0.0.0/8"]
}

resource "azurerm_subnet" "nodes" {
  name                 = "nodes"
  virtual_network_name = azurerm_virtual_network.main.name
  address_prefixes     = ["10.1.0.0/20"]
}

module "aks" {
  source  = "Azure/aks/azurerm"
  version = "~> 10.0"

  prefix              = "train"
  cluster_name        = "train"
  location            = "westeurope"
  resource_group_name = "train"
  network_plugin      = "azure"
  vnet_subnet         = { id = azurerm_subnet.nodes.id }
  agents_count        = 3

  node_pools = {
    gpu = {
      name                  = "gpu"
      vm_size               = "Standard_ND96asr_v4"
      enable_auto_scaling   = true
      min_count             = 0
      max_count             = 100
      vnet_subnet           = { id = azurerm_subnet.nodes.id }
      create_before_destroy = false
    }
  }
}
