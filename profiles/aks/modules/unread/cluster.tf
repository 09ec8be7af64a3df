# A cluster of AKS as the arguments of a module say whose code is not there: what is not written here is not known.
variable "given" {
  type    = list(string)
  default = []
}

variable "name" {
  type = string
}

variable "release" {
  type = string
}

variable "tier" {
  type = string
}

variable "plugin" {
  type = string
}

variable "mode" {
  type = string
}

variable "default" {
  type = any
}

variable "pools" {
  type = any
}

variable "size" {
  type = string
}

variable "min" {
  type = number
}

variable "max" {
  type = number
}

variable "fixed" {
  type = number
}

variable "scaling" {
  type = bool
}

variable "subnet" {
  type = string
}

variable "not_read" {
  type = any
}

locals {
  whole = contains(var.given, "default")
}

resource "azurerm_kubernetes_cluster" "this" {
  name               = var.name
  kubernetes_version = var.release
  sku_tier           = var.tier

  network_profile {
    network_plugin      = var.plugin
    network_plugin_mode = var.mode
  }

  default_node_pool {
    vm_size              = local.whole ? try(var.default.vm_size, var.not_read) : var.size
    min_count            = local.whole ? try(var.default.min_count, var.not_read) : var.min
    max_count            = local.whole ? try(var.default.max_count, var.not_read) : var.max
    node_count           = local.whole ? try(var.default.node_count, var.not_read) : var.fixed
    auto_scaling_enabled = local.whole ? try(var.default.auto_scaling_enabled, var.default.enable_auto_scaling, var.not_read) : var.scaling
    max_pods             = local.whole ? try(var.default.max_pods, var.not_read) : var.not_read
    vnet_subnet_id       = local.whole ? try(var.default.vnet_subnet_id, var.subnet) : var.subnet
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "this" {
  for_each = { for i, pool in var.pools : can(keys(var.pools)) ? i : try(pool.name, i) => pool if contains(var.given, "pools") }

  kubernetes_cluster_id = azurerm_kubernetes_cluster.this.id
  name                  = try(each.value.name, each.key)
  vm_size               = try(each.value.vm_size, var.not_read)
  min_count             = try(each.value.min_count, var.not_read)
  max_count             = try(each.value.max_count, var.not_read)
  node_count            = try(each.value.node_count, var.not_read)
  auto_scaling_enabled  = try(each.value.auto_scaling_enabled, each.value.enable_auto_scaling, var.not_read)
  max_pods              = try(each.value.max_pods, var.not_read)
  priority              = try(each.value.priority, var.not_read)
  vnet_subnet_id        = try(each.value.vnet_subnet_id, var.subnet)
}

output "id" {
  value = azurerm_kubernetes_cluster.this.id
}

output "aks_id" {
  value = azurerm_kubernetes_cluster.this.id
}

output "cluster_id" {
  value = azurerm_kubernetes_cluster.this.id
}

output "name" {
  value = azurerm_kubernetes_cluster.this.name
}

output "cluster_name" {
  value = azurerm_kubernetes_cluster.this.name
}
