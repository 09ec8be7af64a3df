terraform {
  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 4.20"
    }
  }
}

provider "azurerm" {
  features {}
  subscription_id = "00000000-0000-0000-0000-000000000000"
}

resource "azurerm_resource_group" "nlp" {
  name     = "rg-nlp"
  location = "westeurope"
}

resource "azurerm_virtual_network" "nlp" {
  name                = "vnet-nlp"
  resource_group_name = azurerm_resource_group.nlp.name
  location            = azurerm_resource_group.nlp.location
  address_space       = ["10.40.0.0/16"]
}

resource "azurerm_subnet" "aks" {
  name                 = "snet-aks"
  resource_group_name  = azurerm_resource_group.nlp.name
  virtual_network_name = azurerm_virtual_network.nlp.name
  address_prefixes     = ["10.40.8.0/21"]
}

resource "azurerm_kubernetes_cluster" "nlp" {
  name                = "aks-nlp"
  location            = azurerm_resource_group.nlp.location
  resource_group_name = azurerm_resource_group.nlp.name
  dns_prefix          = "nlp"
  sku_tier            = "Standard"
  kubernetes_version  = "1.35"

  default_node_pool {
    name           = "system"
    vm_size        = "Standard_D4ds_v5"
    node_count     = 3
    vnet_subnet_id = azurerm_subnet.aks.id

    upgrade_settings {
      max_surge = "10%"
    }
  }

  identity {
    type = "SystemAssigned"
  }

  network_profile {
    network_plugin = "azure"
    service_cidr   = "172.20.0.0/16"
    dns_service_ip = "172.20.0.10"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "a100" {
  name                  = "a100"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.nlp.id
  vm_size               = "Standard_NC24ads_A100_v4"
  vnet_subnet_id        = azurerm_subnet.aks.id
  auto_scaling_enabled  = true
  min_count             = 40
  max_count             = 50

  upgrade_settings {
    max_surge = "33%"
  }
}
