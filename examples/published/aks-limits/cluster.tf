# One pool of 1,000 nodes with kubenet, behind the standard load balancer, on the control plane of the Free tier.
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

resource "azurerm_kubernetes_cluster" "train" {
  name                = "train"
  location            = "westeurope"
  resource_group_name = "train"
  dns_prefix          = "train"
  kubernetes_version  = "1.20"
  sku_tier            = "Free"

  default_node_pool {
    name                 = "train"
    vm_size              = "Standard_D2s_v5"
    vnet_subnet_id       = azurerm_subnet.nodes.id
    auto_scaling_enabled = true
    min_count            = 1
    max_count            = 1000
  }

  network_profile {
    network_plugin = "kubenet"
    pod_cidr       = "10.64.0.0/13"
    outbound_type  = "loadBalancer"
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
