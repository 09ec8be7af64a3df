# Below 0.4 the module makes a Standard control plane and overlay of nothing said.
module "aks" {
  source  = "Azure/avm-res-containerservice-managedcluster/azurerm"
  version = "0.3.3"

  name                = "train"
  location            = "westeurope"
  resource_group_name = "train"

  default_node_pool = {
    name    = "system"
    vm_size = "Standard_D8ds_v5"
  }

  node_pools = {
    gpu = {
      name                 = "gpu"
      vm_size              = "Standard_ND96asr_v4"
      auto_scaling_enabled = true
      min_count            = 0
      max_count            = 400
    }
  }
}
