resource "azurerm_subnet" "nodes" {
  name             = "nodes"
  address_prefixes = ["10.0.0.0/24"]
}

resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Free"

  default_node_pool {
    name           = "system"
    node_count     = 500
    vnet_subnet_id = azurerm_subnet.nodes.id
  }

  network_profile {
    network_plugin = "kubenet" # kcheck: ignore[kubenet-retiring]
  }

  auto_scaler_profile {
    expander                      = "random"
    scale_down_unneeded           = "30m"
    scale_down_delay_after_delete = "2m"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  for_each              = toset(["a", "b"])
  name                  = each.key
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_ND96isr_H100_v5"
  auto_scaling_enabled  = true
  min_count             = 4
  max_count             = 200
  vnet_subnet_id        = azurerm_subnet.nodes.id
}
