# Version 11 renames enable_auto_scaling; the autoscaler profile is on.
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
  version = "~> 11.0"

  prefix              = "train"
  cluster_name        = "train"
  location            = "westeurope"
  resource_group_name = "train"
  network_plugin      = "azure"
  vnet_subnet         = { id = azurerm_subnet.nodes.id }
  agents_count        = 3
  sku_tier            = "Standard"

  auto_scaler_profile_enabled               = true
  auto_scaler_profile_empty_bulk_delete_max = 100

  node_pools = {
    gpu = {
      name                  = "gpu"
      vm_size               = "Standard_ND96asr_v4"
      auto_scaling_enabled  = true
      min_count             = 0
      max_count             = 100
      vnet_subnet           = { id = azurerm_subnet.nodes.id }
      create_before_destroy = false
    }
  }
}
