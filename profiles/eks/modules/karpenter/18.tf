# terraform-aws-modules/eks/aws//modules/karpenter: roles and a queue, which nobody makes without Karpenter.
variable "create" {
  type    = bool
  default = true
}

resource "helm_release" "karpenter" {
  count = var.create ? 1 : 0

  chart = "karpenter"
}
