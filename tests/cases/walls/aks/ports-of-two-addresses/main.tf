provider "azurerm" {
  features {}
}

resource "azurerm_resource_group" "crawl" {
  name     = "rg-crawl"
  location = "swedencentral"
}

resource "azurerm_virtual_network" "crawl" {
  name                = "vnet-crawl"
  location            = azurerm_resource_group.crawl.location
  resource_group_name = azurerm_resource_group.crawl.name
  address_space       = ["10.30.0.0/16"]
}

resource "azurerm_subnet" "crawl" {
  name                 = "aks"
  resource_group_name  = azurerm_resource_group.crawl.name
  virtual_network_name = azurerm_virtual_network.crawl.name
  address_prefixes     = ["10.30.1.0/24"]
}

resource "azurerm_kubernetes_cluster" "crawl" {
  name                = "crawl"
  location            = azurerm_resource_group.crawl.location
  resource_group_name = azurerm_resource_group.crawl.name
  dns_prefix          = "crawl"
  sku_tier            = "Standard"

  default_node_pool {
    name           = "system"
    vm_size        = "Standard_D4ds_v5"
    node_count     = 2
    vnet_subnet_id = azurerm_subnet.crawl.id

    upgrade_settings {
      max_surge = "1"
    }
  }

  identity {
    type = "SystemAssigned"
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    network_data_plane  = "cilium"
    load_balancer_sku   = "standard"

    load_balancer_profile {
      managed_outbound_ip_count = 2
      outbound_ports_allocated  = 4000
      idle_timeout_in_minutes   = 4
    }
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "t4" {
  name                  = "t4"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.crawl.id
  vm_size               = "Standard_NC8as_T4_v3"
  vnet_subnet_id        = azurerm_subnet.crawl.id
  auto_scaling_enabled  = true
  min_count             = 1
  max_count             = 60
  node_labels           = { accelerator = "t4" }

  upgrade_settings {
    max_surge = "1"
  }
}
