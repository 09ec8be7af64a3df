# A subnet of Azure as the arguments of a module say whose code is not there: what is not written here is not known.
variable "name" {
  type = string
}

variable "network" {
  type = string
}

variable "cidrs" {
  type = any
}

resource "azurerm_subnet" "this" {
  name                 = var.name
  virtual_network_name = var.network
  address_prefixes     = flatten([var.cidrs])
}

output "subnet_id" {
  value = azurerm_subnet.this.id
}

output "id" {
  value = azurerm_subnet.this.id
}
