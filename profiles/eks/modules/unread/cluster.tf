# A cluster of EKS as the arguments of a module say whose code is not there: what is not written here is not known.
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

variable "subnets" {
  type = any
}

variable "groups" {
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

variable "not_read" {
  type = any
}

resource "aws_eks_cluster" "this" {
  name    = var.name
  version = var.release
}

resource "aws_eks_addon" "this" {
  for_each = var.not_read

  cluster_name = aws_eks_cluster.this.name
}

# what starts the nodes, and their images, disks and interfaces: a module may have a template of its own
resource "aws_launch_template" "this" {
  dynamic "network_interfaces" {
    for_each = var.not_read

    content {
      interface_type = network_interfaces.value
    }
  }
}

resource "aws_eks_node_group" "this" {
  for_each = { for name, group in var.groups : name => group if contains(var.given, "groups") }

  cluster_name   = aws_eks_cluster.this.name
  subnet_ids     = try(each.value.subnet_ids, each.value.subnets, var.subnets)
  capacity_type  = try(each.value.capacity_type, var.not_read)
  instance_types = try(each.value.instance_types, [each.value.instance_type], var.not_read)
  labels         = try(each.value.labels, each.value.k8s_labels, each.value.kubernetes_labels, var.not_read)

  launch_template {
    id = aws_launch_template.this.id
  }

  scaling_config {
    min_size = try(each.value.min_size, each.value.min_capacity, each.value.scaling_config.min_size, var.not_read)
    max_size = try(each.value.max_size, each.value.max_capacity, each.value.scaling_config.max_size, var.not_read)
  }
}

resource "aws_eks_node_group" "only" {
  count = contains(var.given, "max") && !contains(var.given, "groups") ? 1 : 0

  cluster_name   = aws_eks_cluster.this.name
  subnet_ids     = var.subnets
  capacity_type  = var.capacity
  instance_types = contains(var.given, "types") ? var.types : [var.type]

  launch_template {
    id = aws_launch_template.this.id
  }

  scaling_config {
    min_size = var.min
    max_size = var.max
  }
}

output "cluster_name" {
  value = aws_eks_cluster.this.name
}

output "cluster_id" {
  value = aws_eks_cluster.this.name
}

output "eks_cluster_name" {
  value = aws_eks_cluster.this.name
}

output "eks_cluster_id" {
  value = aws_eks_cluster.this.name
}
