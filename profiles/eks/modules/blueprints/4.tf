# aws-ia/terraform-aws-eks-blueprints 4: a cluster of terraform-aws-modules/eks 18 with groups of its own.
variable "create_eks" {
  type    = bool
  default = true
}

variable "vpc_id" {
  type    = string
  default = null
}

variable "cluster_name" {
  type    = string
  default = ""
}

variable "cluster_version" {
  type    = string
  default = "1.24"
}

variable "cluster_ip_family" {
  type    = string
  default = "ipv4"
}

variable "cluster_service_ipv4_cidr" {
  type    = string
  default = null
}

variable "private_subnet_ids" {
  type    = list(string)
  default = []
}

variable "public_subnet_ids" {
  type    = list(string)
  default = []
}

variable "managed_node_groups" {
  type    = any
  default = {}
}

variable "self_managed_node_groups" {
  type    = any
  default = {}
}

locals {
  own_template = { for k, v in var.managed_node_groups : k => v if var.create_eks && try(v.create_launch_template, false) }
}

resource "aws_eks_cluster" "this" {
  count = var.create_eks ? 1 : 0

  name    = var.cluster_name
  version = var.cluster_version

  network_id = var.vpc_id # not of the resource: the VPC of its subnets

  kubernetes_network_config {
    ip_family         = var.cluster_ip_family
    service_ipv4_cidr = var.cluster_service_ipv4_cidr
  }
}

resource "aws_launch_template" "managed" {
  for_each = local.own_template

  image_id = try(each.value.custom_ami_id, "") == "" ? null : each.value.custom_ami_id
  # a template of the module, with what the caller adds
  user_data = join("\n", compact([
    try(each.value.pre_userdata, ""),
    try(each.value.kubelet_extra_args, ""),
    try(each.value.bootstrap_extra_args, ""),
    try(each.value.post_userdata, ""),
    try(each.value.format_mount_nvme_disk, false) ? "setup-local-disks" : "",
  ]))

  dynamic "block_device_mappings" {
    for_each = try(each.value.block_device_mappings, [{ volume_type = "gp3", volume_size = 100 }])

    content {
      device_name = try(block_device_mappings.value.device_name, null)

      ebs {
        volume_size = try(block_device_mappings.value.volume_size, null)
        volume_type = try(block_device_mappings.value.volume_type, null)
      }
    }
  }
}

resource "aws_eks_node_group" "managed_ng" {
  for_each = { for k, v in var.managed_node_groups : k => v if var.create_eks }

  cluster_name           = aws_eks_cluster.this[0].name
  node_group_name_prefix = try(each.value.node_group_name, "m5_on_demand")
  subnet_ids             = length(try(each.value.subnet_ids, [])) > 0 ? each.value.subnet_ids : try(each.value.subnet_type, "private") == "public" ? var.public_subnet_ids : var.private_subnet_ids
  ami_type               = try(each.value.custom_ami_id, "") == "" ? try(each.value.ami_type, "AL2_x86_64") : null
  capacity_type          = try(each.value.capacity_type, "ON_DEMAND")
  disk_size              = try(each.value.create_launch_template, false) ? null : try(each.value.disk_size, 50)
  instance_types         = try(each.value.instance_types, ["m5.large"])
  labels                 = try(each.value.k8s_labels, {})

  scaling_config {
    min_size     = try(each.value.min_size, 1)
    max_size     = try(each.value.max_size, 3)
    desired_size = try(each.value.desired_size, 3)
  }

  update_config {
    max_unavailable            = try(each.value.update_config[0].max_unavailable, can(each.value.update_config) ? null : 1)
    max_unavailable_percentage = try(each.value.update_config[0].max_unavailable_percentage, null)
  }

  dynamic "launch_template" {
    for_each = try(each.value.create_launch_template, false) ? [1] : []

    content {
      id = aws_launch_template.managed[each.key].id
    }
  }

  dynamic "taint" {
    for_each = try(each.value.k8s_taints, [])

    content {
      key    = taint.value.key
      value  = try(taint.value.value, null)
      effect = taint.value.effect
    }
  }

  lifecycle {
    ignore_changes = [scaling_config[0].desired_size]
  }
}

resource "aws_launch_template" "self_managed" {
  for_each = { for k, v in var.self_managed_node_groups : k => v if var.create_eks }

  instance_type = try(each.value.instance_type, "m4.large")
  user_data = join("\n", compact([
    try(each.value.pre_userdata, ""),
    try(each.value.kubelet_extra_args, ""),
    try(each.value.bootstrap_extra_args, ""),
    try(each.value.post_userdata, ""),
    try(each.value.format_mount_nvme_disk, false) ? "setup-local-disks" : "",
  ]))

  dynamic "instance_market_options" {
    for_each = try(each.value.capacity_type, "on_demand") == "spot" && length(try(each.value.instance_types, [])) <= 1 ? ["spot"] : []

    content {
      market_type = instance_market_options.value
    }
  }

  dynamic "block_device_mappings" {
    for_each = try(each.value.block_device_mappings, [{ volume_type = "gp3", volume_size = 50 }])

    content {
      device_name = try(block_device_mappings.value.device_name, null)

      ebs {
        volume_size = try(block_device_mappings.value.volume_size, null)
        volume_type = try(block_device_mappings.value.volume_type, null)
      }
    }
  }
}

resource "aws_autoscaling_group" "self_managed" {
  for_each = { for k, v in var.self_managed_node_groups : k => v if var.create_eks }

  name                = try(each.value.node_group_name, "m4_on_demand")
  vpc_zone_identifier = length(try(each.value.subnet_ids, [])) > 0 ? each.value.subnet_ids : try(each.value.subnet_type, "private") == "public" ? var.public_subnet_ids : var.private_subnet_ids
  min_size            = try(each.value.min_size, 1)
  max_size            = try(each.value.max_size, 3)

  launch_template {
    id = aws_launch_template.self_managed[each.key].id
  }

  dynamic "mixed_instances_policy" {
    for_each = length(try(each.value.instance_types, [])) > 1 ? [1] : []

    content {
      instances_distribution {
        on_demand_base_capacity                  = 0
        on_demand_percentage_above_base_capacity = try(each.value.capacity_type, "on_demand") == "spot" ? 0 : 100
      }

      launch_template {
        override = [for type in each.value.instance_types : { instance_type = type }]
      }
    }
  }

  tag {
    key   = "kubernetes.io/cluster/${aws_eks_cluster.this[0].name}"
    value = "owned"
  }
}

output "eks_cluster_id" {
  value = try(aws_eks_cluster.this[0].name, "")
}

output "eks_cluster_version" {
  value = try(aws_eks_cluster.this[0].version, null)
}
