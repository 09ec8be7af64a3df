# Of this cluster alone, whatever other ones the subscription has: what is in it may have the names of others.
resource "azurerm_resource_group" "main" {
  name     = "${var.name}-${var.region}"
  location = var.region
}

resource "azurerm_virtual_network" "main" {
  name                = "${var.name}-network"
  location            = azurerm_resource_group.main.location
  resource_group_name = azurerm_resource_group.main.name
  address_space       = [var.network_cidr]
}

resource "azurerm_subnet" "nodes" {
  name                            = "nodes"
  resource_group_name             = azurerm_resource_group.main.name
  virtual_network_name            = azurerm_virtual_network.main.name
  address_prefixes                = [var.nodes_cidr]
  default_outbound_access_enabled = false # through the NAT gateway or not at all

  # File shares, and the layers of images in the registry, are in Azure Storage: 1,000 nodes that pull at once stay off
  # the NAT gateway, whose gigabytes cost.
  service_endpoint {
    service = "Microsoft.Storage"
  }
}

# The API server itself: nodes reach it, and it them and their webhooks, without a tunnel.
resource "azurerm_subnet" "api" {
  name                            = "api"
  resource_group_name             = azurerm_resource_group.main.name
  virtual_network_name            = azurerm_virtual_network.main.name
  address_prefixes                = [var.api_cidr] # /28 at least: a subnet that is full keeps the API server from growing with the cluster
  default_outbound_access_enabled = false

  delegation {
    name = "aks"

    service_delegation {
      name    = "Microsoft.ContainerService/managedClusters"
      actions = ["Microsoft.Network/virtualNetworks/subnets/join/action"]
    }
  }
}

resource "azurerm_subnet" "lustre" {
  name                            = "lustre"
  resource_group_name             = azurerm_resource_group.main.name
  virtual_network_name            = azurerm_virtual_network.main.name
  address_prefixes                = [var.lustre_cidr] # enough for up to 196 TiB
  default_outbound_access_enabled = false
}

# Zone-redundant, so that a zone that fails takes no nodes of other zones with it.
resource "azurerm_nat_gateway" "main" {
  name                = "${var.name}-nat"
  location            = azurerm_resource_group.main.location
  resource_group_name = azurerm_resource_group.main.name
  sku_name            = "StandardV2"
}

# 4 addresses of 64,512 ports: 128 and more for each of 1,013 nodes.
resource "azurerm_public_ip_prefix" "nat" {
  name                = "${var.name}-nat"
  location            = azurerm_resource_group.main.location
  resource_group_name = azurerm_resource_group.main.name
  sku                 = "StandardV2"
  prefix_length       = var.nat_prefix_length
  zones               = ["1", "2", "3"]
}

resource "azurerm_nat_gateway_public_ip_prefix_association" "nat" {
  nat_gateway_id      = azurerm_nat_gateway.main.id
  public_ip_prefix_id = azurerm_public_ip_prefix.nat.id
}

resource "azurerm_subnet_nat_gateway_association" "nodes" {
  subnet_id      = azurerm_subnet.nodes.id
  nat_gateway_id = azurerm_nat_gateway.main.id
}

# The file system asks services of Azure for updates and for its state.
resource "azurerm_subnet_nat_gateway_association" "lustre" {
  subnet_id      = azurerm_subnet.lustre.id
  nat_gateway_id = azurerm_nat_gateway.main.id
}
