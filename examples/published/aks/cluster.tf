# 1,000 nodes for a job of 10 minutes on AKS, as in 2021: pools of 200 nodes, and flags of the autoscaler in a profile.
terraform {
  required_version = ">= 1.6"

  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 4.0"
    }
  }
}

provider "azurerm" {
  features {}
}

variable "empty_bulk_delete_max" {
  description = "Empty nodes that the autoscaler deletes at the same time"
  type        = number
  default     = 10
}

resource "azurerm_kubernetes_cluster" "train" {
  name                = "train"
  location            = "westeurope"
  resource_group_name = "train"
  dns_prefix          = "train"
  kubernetes_version  = "1.20"
  sku_tier            = "Standard"

  default_node_pool {
    name           = "system"
    vm_size        = "Standard_D2s_v5"
    node_count     = 2
    vnet_subnet_id = azurerm_subnet.nodes.id
  }

  auto_scaler_profile {
    empty_bulk_delete_max = var.empty_bulk_delete_max
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    pod_cidr            = "10.64.0.0/13"
  }

  identity {
    type = "SystemAssigned"
  }
}

resource "azurerm_subnet" "nodes" {
  name                 = "nodes"
  resource_group_name  = "train"
  virtual_network_name = "train"
  address_prefixes     = ["10.0.0.0/20"]
}

resource "azurerm_kubernetes_cluster_node_pool" "train" {
  count                 = 5
  name                  = "train${count.index}"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.train.id
  vm_size               = "Standard_D2s_v5"
  vnet_subnet_id        = azurerm_subnet.nodes.id
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 200
}
