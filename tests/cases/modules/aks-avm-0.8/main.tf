# From 0.4 on the same call has the Free tier, and a network that AKS chooses.
module "aks" {
  source  = "Azure/avm-res-containerservice-managedcluster/azurerm"
  version = "~> 0.8"

  name      = "train"
  location  = "westeurope"
  parent_id = "/subscriptions/0/resourceGroups/train"

  default_agent_pool = {
    name    = "system"
    vm_size = "Standard_D8ds_v5"
  }

  agent_pools = {
    gpu = {
      name                = "gpu"
      vm_size             = "Standard_ND96asr_v4"
      enable_auto_scaling = true
      min_count           = 0
      max_count           = 400
    }
  }

  auto_scaler_profile = {
    max_empty_bulk_delete = "100"
  }
}
