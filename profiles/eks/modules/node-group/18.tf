# terraform-aws-modules/eks/aws//modules/eks-managed-node-group up to 20.
variable "create" {
  type    = bool
  default = true
}

variable "cluster_name" {
  type    = string
  default = null
}

variable "name" {
  type    = string
  default = ""
}

variable "subnet_ids" {
  type    = list(string)
  default = null
}

variable "min_size" {
  type    = number
  default = 0
}

variable "max_size" {
  type    = number
  default = 3
}

variable "capacity_type" {
  type    = string
  default = "ON_DEMAND"
}

variable "instance_types" {
  type    = list(string)
  default = null
}

variable "labels" {
  type    = map(string)
  default = null
}

variable "update_config" {
  type    = map(string)
  default = { max_unavailable_percentage = "33" }
}

resource "aws_eks_node_group" "this" {
  count = var.create ? 1 : 0

  cluster_name    = var.cluster_name
  node_group_name = var.name
  subnet_ids      = var.subnet_ids
  capacity_type   = var.capacity_type
  instance_types  = var.instance_types
  labels          = var.labels

  scaling_config {
    min_size = var.min_size
    max_size = var.max_size
  }

  update_config {
    max_unavailable            = lookup(var.update_config, "max_unavailable", null)
    max_unavailable_percentage = lookup(var.update_config, "max_unavailable_percentage", null)
  }
}
