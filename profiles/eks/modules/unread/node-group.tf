# A node group of EKS as the arguments of a module say whose code is not there: what is not written here is not known.
variable "given" {
  type    = list(string)
  default = []
}

variable "cluster" {
  type = string
}

variable "name" {
  type = string
}

variable "subnets" {
  type = any
}

variable "min" {
  type = number
}

variable "max" {
  type = number
}

variable "types" {
  type = any
}

variable "type" {
  type = string
}

variable "capacity" {
  type = string
}

variable "labels" {
  type = map(string)
}

resource "aws_launch_template" "this" {
  dynamic "network_interfaces" {
    for_each = var.not_read

    content {
      interface_type = network_interfaces.value
    }
  }
}

resource "aws_eks_node_group" "this" {
  cluster_name    = var.cluster
  node_group_name = var.name
  subnet_ids      = var.subnets
  capacity_type   = var.capacity
  instance_types  = contains(var.given, "types") ? var.types : [var.type]
  labels          = var.labels

  launch_template {
    id = aws_launch_template.this.id
  }

  scaling_config {
    min_size = var.min
    max_size = var.max
  }
}
