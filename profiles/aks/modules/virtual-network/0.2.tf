# Azure/avm-res-network-virtualnetwork/azurerm: azapi in the module, azurerm names here.
variable "name" {
  type    = string
  default = null
}

variable "address_space" {
  type    = set(string)
  default = null
}

variable "subnets" {
  type = map(object({
    name             = string
    address_prefix   = optional(string)
    address_prefixes = optional(list(string))
  }))
  default = {}
}

resource "azurerm_virtual_network" "this" {
  name          = var.name
  address_space = var.address_space
}

resource "azurerm_subnet" "this" {
  for_each = var.subnets

  name                 = each.value.name
  virtual_network_name = azurerm_virtual_network.this.name
  address_prefix       = each.value.address_prefix
  address_prefixes     = each.value.address_prefixes
}

output "resource_id" {
  value = azurerm_virtual_network.this.id
}

output "name" {
  value = azurerm_virtual_network.this.name
}

output "subnets" {
  value = { for k, s in azurerm_subnet.this : k => { name = s.name, resource_id = s.id, resource = s } }
}

output "resource" {
  value = azurerm_virtual_network.this
}
