terraform {
  required_version = ">= 1.3"
  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = ">= 3.107.0, < 4.0"
    }
  }
}

provider "azurerm" {
  features {}
}

locals {
  name = "sweep"
}

resource "azurerm_resource_group" "main" {
  name     = "rg-${local.name}"
  location = "uksouth"
}

resource "azurerm_virtual_network" "main" {
  name                = "vnet-${local.name}"
  address_space       = ["10.80.0.0/16"]
  location            = azurerm_resource_group.main.location
  resource_group_name = azurerm_resource_group.main.name
}

resource "azurerm_subnet" "nodes" {
  name                 = "nodes"
  address_prefixes     = ["10.80.0.0/22"]
  resource_group_name  = azurerm_resource_group.main.name
  virtual_network_name = azurerm_virtual_network.main.name
}

module "aks" {
  source  = "Azure/aks/azurerm"
  version = "9.4.1"

  prefix              = local.name
  cluster_name        = local.name
  resource_group_name = azurerm_resource_group.main.name
  location            = azurerm_resource_group.main.location
  kubernetes_version  = "1.35"
  sku_tier            = "Standard"
  rbac_aad            = false

  network_plugin             = "kubenet"
  net_profile_pod_cidr       = "10.64.0.0/14"
  net_profile_service_cidr   = "10.90.0.0/16"
  net_profile_dns_service_ip = "10.90.0.10"
  vnet_subnet_id             = azurerm_subnet.nodes.id

  agents_pool_name      = "system"
  agents_size           = "Standard_D4s_v5"
  agents_count          = 2
  agents_pool_max_surge = "1"

  node_pools = {
    sweep = {
      name                = "sweep"
      vm_size             = "Standard_F16s_v2"
      enable_auto_scaling = true
      min_count           = 0
      max_count           = 600
      vnet_subnet_id      = azurerm_subnet.nodes.id
      upgrade_settings = {
        max_surge = "5"
      }
    }
  }
}
