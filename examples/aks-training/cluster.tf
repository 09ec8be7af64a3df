resource "azurerm_kubernetes_cluster" "train" {
  name                = "aks-${local.prefix}"
  resource_group_name = azurerm_resource_group.main.name
  location            = azurerm_resource_group.main.location
  dns_prefix          = "train"
  kubernetes_version  = "1.35"

  # Everything that is not training.
  default_node_pool {
    name                 = "system"
    vm_size              = "Standard_D8ds_v5"
    auto_scaling_enabled = true
    min_count            = 3
    max_count            = 50
    vnet_subnet_id       = azurerm_subnet.nodes.id
  }

  network_profile {
    network_plugin = "azure" # pods get addresses of the subnet
    outbound_type  = "loadBalancer"
  }

  auto_scaler_profile {
    expander            = "least-waste"
    scale_down_unneeded = var.scale_down_unneeded
  }

  identity {
    type = "SystemAssigned"
  }

  # Node images are replaced while nobody trains.
  maintenance_window_node_os {
    frequency   = "Weekly"
    interval    = 1
    duration    = 8
    day_of_week = "Sunday"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.train.id
  vm_size               = var.gpu_vm_size
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = var.gpu_max_nodes
  max_pods              = 30
  vnet_subnet_id        = azurerm_subnet.nodes.id
  node_labels           = { pool = "gpu" }
  node_taints           = ["nvidia.com/gpu=present:NoSchedule"]

  upgrade_settings {
    max_surge = "10%"
  }
}
