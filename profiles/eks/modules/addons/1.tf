# aws-ia/eks-blueprints-addons/aws: what of it grows node groups, with the values it is given.
variable "enable_cluster_autoscaler" {
  type    = bool
  default = false
}

variable "enable_karpenter" {
  type    = bool
  default = false
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

resource "helm_release" "cluster_autoscaler" {
  count = var.enable_cluster_autoscaler ? 1 : 0

  chart  = try(var.cluster_autoscaler.chart, "cluster-autoscaler")
  values = try(var.cluster_autoscaler.values, [])
  set    = try(var.cluster_autoscaler.set, [])
}

resource "helm_release" "karpenter" {
  count = var.enable_karpenter ? 1 : 0

  chart  = try(var.karpenter.chart, "karpenter")
  values = try(var.karpenter.values, [])
  set    = try(var.karpenter.set, [])
}

resource "helm_release" "this" {
  for_each = var.helm_releases

  chart  = try(each.value.chart, each.key)
  values = try(each.value.values, [])
  set    = try(each.value.set, [])
}
