# aws-ia/eks-blueprints-addons/aws: what of it grows node groups.
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

resource "helm_release" "cluster_autoscaler" {
  count = var.enable_cluster_autoscaler ? 1 : 0

  chart = "cluster-autoscaler"
}

resource "helm_release" "karpenter" {
  count = var.enable_karpenter ? 1 : 0

  chart = "karpenter"
}

resource "helm_release" "this" {
  for_each = var.helm_releases

  chart = try(each.value.chart, each.key)
}
