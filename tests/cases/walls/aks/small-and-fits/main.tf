provider "azurerm" {
  features {}
}

resource "azurerm_resource_group" "lab" {
  name     = "lab"
  location = "norwayeast"
}

resource "azurerm_virtual_network" "lab" {
  name                = "lab"
  location            = azurerm_resource_group.lab.location
  resource_group_name = azurerm_resource_group.lab.name
  address_space       = ["10.100.0.0/20"]
}

resource "azurerm_subnet" "lab" {
  for_each = {
    nodes = "10.100.0.0/26"
    pods  = "10.100.4.0/22"
  }
  name                 = each.key
  resource_group_name  = azurerm_resource_group.lab.name
  virtual_network_name = azurerm_virtual_network.lab.name
  address_prefixes     = [each.value]
}

resource "azurerm_public_ip" "lab" {
  name                = "nat"
  location            = azurerm_resource_group.lab.location
  resource_group_name = azurerm_resource_group.lab.name
  allocation_method   = "Static"
  sku                 = "Standard"
}

resource "azurerm_nat_gateway" "lab" {
  name                = "nat"
  location            = azurerm_resource_group.lab.location
  resource_group_name = azurerm_resource_group.lab.name
  sku_name            = "Standard"
}

resource "azurerm_nat_gateway_public_ip_association" "lab" {
  nat_gateway_id       = azurerm_nat_gateway.lab.id
  public_ip_address_id = azurerm_public_ip.lab.id
}

resource "azurerm_subnet_nat_gateway_association" "lab" {
  for_each       = azurerm_subnet.lab
  subnet_id      = each.value.id
  nat_gateway_id = azurerm_nat_gateway.lab.id
}

resource "azurerm_kubernetes_cluster" "lab" {
  name                = "lab"
  location            = azurerm_resource_group.lab.location
  resource_group_name = azurerm_resource_group.lab.name
  dns_prefix          = "lab"

  default_node_pool {
    name           = "system"
    vm_size        = "Standard_D4as_v5"
    node_count     = 1
    max_pods       = 30
    vnet_subnet_id = azurerm_subnet.lab["nodes"].id
    pod_subnet_id  = azurerm_subnet.lab["pods"].id

    upgrade_settings {
      max_surge = "1"
    }
  }

  identity {
    type = "SystemAssigned"
  }

  network_profile {
    network_plugin = "azure"
    outbound_type  = "userAssignedNATGateway"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "a10" {
  name                  = "a10"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.lab.id
  vm_size               = "Standard_NV36ads_A10_v5"
  max_pods              = 30
  vnet_subnet_id        = azurerm_subnet.lab["nodes"].id
  pod_subnet_id         = azurerm_subnet.lab["pods"].id
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 6

  upgrade_settings {
    max_surge = "1"
  }
}
