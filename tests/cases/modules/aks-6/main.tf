# The module before node pools had a surge of their own, in a network whose subnets are listed in two lists.
module "network" {
  source  = "Azure/network/azurerm"
  version = "3.5.0"

  resource_group_name = "train"
  vnet_name           = "train"
  address_space       = "10.52.0.0/16"
  subnet_names        = ["nodes", "pods"]
  subnet_prefixes     = ["10.52.0.0/24", "10.52.16.0/20"]
}

module "aks" {
  source  = "Azure/aks/azurerm"
  version = "6.8.0"

  prefix              = "train"
  resource_group_name = "train"
  network_plugin      = "azure"
  vnet_subnet_id      = module.network.vnet_subnets[0]
  agents_size         = "Standard_D8s_v3"
  enable_auto_scaling = true
  agents_min_count    = 1
  agents_max_count    = 12

  node_pools = {
    gpu = {
      name           = "gpu"
      vm_size        = "Standard_ND96asr_v4"
      node_count     = 8
      vnet_subnet_id = module.network.vnet_subnets[1]
    }
  }
}
