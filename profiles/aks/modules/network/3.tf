# Azure/network/azurerm: subnets paired with prefixes by index; in order of their names with use_for_each, from 5 on.
variable "vnet_name" {
  type    = string
  default = "acctvnet"
}

variable "address_space" {
  type    = string
  default = "10.0.0.0/16"
}

variable "address_spaces" {
  type    = list(string)
  default = []
}

variable "subnet_names" {
  type    = list(string)
  default = ["subnet1"]
}

variable "subnet_prefixes" {
  type    = list(string)
  default = ["10.0.1.0/24"]
}

variable "use_for_each" {
  type    = bool
  default = false
}

locals {
  subnets = concat(azurerm_subnet.subnet_count, values(azurerm_subnet.subnet_for_each))
}

resource "azurerm_virtual_network" "vnet" {
  name          = var.vnet_name
  address_space = length(var.address_spaces) == 0 ? [var.address_space] : var.address_spaces
}

resource "azurerm_subnet" "subnet_count" {
  count = var.use_for_each ? 0 : length(var.subnet_names)

  name                 = var.subnet_names[count.index]
  virtual_network_name = azurerm_virtual_network.vnet.name
  address_prefixes     = [var.subnet_prefixes[count.index]]
}

resource "azurerm_subnet" "subnet_for_each" {
  for_each = var.use_for_each ? zipmap(var.subnet_names, var.subnet_prefixes) : {}

  name                 = each.key
  virtual_network_name = azurerm_virtual_network.vnet.name
  address_prefixes     = [each.value]
}

output "vnet_id" {
  value = azurerm_virtual_network.vnet.id
}

output "vnet_name" {
  value = azurerm_virtual_network.vnet.name
}

output "vnet_address_space" {
  value = azurerm_virtual_network.vnet.address_space
}

output "vnet_subnets" {
  value = [for s in local.subnets : s.id]
}
