# cloudposse/eks-cluster/aws: its name is put together from namespace, stage and more, also of a context.
variable "enabled" {
  type    = bool
  default = null
}

variable "context" {
  type    = any
  default = {}
}

variable "kubernetes_version" {
  type    = string
  default = "1.21"
}

variable "service_ipv4_cidr" {
  type    = string
  default = null
}

variable "kubernetes_network_ipv6_enabled" {
  type    = bool
  default = false
}

variable "auto_mode_compute_config" {
  type    = object({ enabled = optional(bool, false) })
  default = {}
}

variable "addons" {
  type    = any
  default = []
}

data "null_data_source" "label" {}

locals {
  enabled = coalesce(var.enabled, try(var.context.enabled, null), true)
}

resource "aws_eks_cluster" "default" {
  count = local.enabled ? 1 : 0

  name    = data.null_data_source.label.id
  version = var.kubernetes_version

  compute_config {
    enabled = var.auto_mode_compute_config.enabled
  }

  kubernetes_network_config {
    ip_family         = var.kubernetes_network_ipv6_enabled ? "ipv6" : null
    service_ipv4_cidr = var.kubernetes_network_ipv6_enabled ? null : var.service_ipv4_cidr
  }
}

resource "aws_eks_addon" "cluster" {
  for_each = { for addon in var.addons : addon.addon_name => addon if local.enabled }

  cluster_name         = aws_eks_cluster.default[0].name
  addon_name           = each.key
  configuration_values = try(each.value.configuration_values, null)
}

output "eks_cluster_id" {
  value = try(aws_eks_cluster.default[0].id, "")
}

output "eks_cluster_version" {
  value = try(aws_eks_cluster.default[0].version, null)
}
