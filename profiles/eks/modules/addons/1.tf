# aws-ia/eks-blueprints-addons/aws: what of it grows node groups, with the values it is given.
variable "enable_cluster_autoscaler" {
  type    = bool
  default = false
}

variable "enable_karpenter" {
  type    = bool
  default = false
}

variable "cluster_version" {
  type = string
}

# Newer versions of the module run the autoscaler of 1.32 on 1.33.
variable "tag_on_1_33" {
  type    = string
  default = "v1.33.0"
}

variable "helm_releases" {
  type    = any
  default = {}
}

variable "cluster_autoscaler" {
  type    = any
  default = {}
}

variable "karpenter" {
  type    = any
  default = {}
}

locals {
  tag = var.cluster_version == "1.33" ? var.tag_on_1_33 : "v${var.cluster_version}.0"
}

resource "helm_release" "cluster_autoscaler" {
  count = var.enable_cluster_autoscaler ? 1 : 0

  chart   = try(var.cluster_autoscaler.chart, "cluster-autoscaler")
  version = try(var.cluster_autoscaler.chart_version, null)
  values  = try(var.cluster_autoscaler.values, [])
  set     = concat([{ name = "image.tag", value = try(var.cluster_autoscaler.image_tag_override, local.tag) }], try(var.cluster_autoscaler.set, []))
}

resource "helm_release" "karpenter" {
  count = var.enable_karpenter ? 1 : 0

  chart  = try(var.karpenter.chart, "karpenter")
  values = try(var.karpenter.values, [])
  set    = try(var.karpenter.set, [])
}

resource "helm_release" "this" {
  for_each = var.helm_releases

  chart   = try(each.value.chart, each.key)
  version = try(each.value.chart_version, null)
  values  = try(each.value.values, [])
  set     = try(each.value.set, [])
}
