provider "azurerm" {
  features {}
}

resource "azurerm_kubernetes_cluster" "prod" {
  name                = "aks-${var.env}"
  location            = var.location
  resource_group_name = var.resource_group
  dns_prefix          = "aks-${var.env}"
  sku_tier            = "Premium"
  support_plan        = "AKSLongTermSupport"

  default_node_pool {
    name                 = "sys"
    vm_size              = "Standard_D8ds_v5"
    auto_scaling_enabled = true
    min_count            = 3
    max_count            = 3
    vnet_subnet_id       = var.node_subnet_id
    max_pods             = 50

    upgrade_settings {
      max_surge = "1"
    }
  }

  identity {
    type = "SystemAssigned"
  }

  network_profile {
    network_plugin = "azure"
    network_policy = "calico"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "train" {
  name                  = "train"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.prod.id
  vm_size               = "Standard_ND96asr_v4"
  vnet_subnet_id        = var.node_subnet_id
  max_pods              = 30
  auto_scaling_enabled  = true
  min_count             = var.train.min
  max_count             = var.train.max

  upgrade_settings {
    max_surge = "1"
  }
}
