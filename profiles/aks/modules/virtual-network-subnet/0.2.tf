# Azure/avm-res-network-virtualnetwork/azurerm//modules/subnet: azapi in the module, azurerm names here.
variable "name" {
  type = string
}

variable "address_prefix" {
  type    = string
  default = null
}

variable "address_prefixes" {
  type    = list(string)
  default = null
}

variable "virtual_network_name" {
  type    = string
  default = null
}

variable "virtual_network" {
  type    = object({ resource_id = string })
  default = null
}

variable "parent_id" {
  type    = string
  default = null
}

resource "azurerm_subnet" "this" {
  name                 = var.name
  virtual_network_name = var.virtual_network_name != null ? var.virtual_network_name : var.parent_id != null ? var.parent_id : try(var.virtual_network.resource_id, null)
  address_prefix       = var.address_prefix
  address_prefixes     = var.address_prefixes
}

output "resource_id" {
  value = azurerm_subnet.this.id
}

output "resource" {
  value = azurerm_subnet.this
}

output "name" {
  value = azurerm_subnet.this.name
}

output "address_prefixes" {
  value = azurerm_subnet.this.address_prefixes
}
