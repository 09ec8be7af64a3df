# terraform-aws-modules/eks/aws 12 to 17: groups fall back to workers_group_defaults, and those to the module's own.
variable "create_eks" {
  type    = bool
  default = true
}

variable "vpc_id" {
  type    = string
  default = null
}

variable "fargate_profiles" {
  type    = any
  default = {}
}

variable "cluster_name" {
  type    = string
  default = ""
}

variable "cluster_version" {
  type    = string
  default = null
}

variable "cluster_service_ipv4_cidr" {
  type    = string
  default = null
}

variable "cluster_endpoint_public_access" {
  type    = bool
  default = true
}

variable "cluster_endpoint_public_access_cidrs" {
  type    = list(string)
  default = ["0.0.0.0/0"]
}

variable "subnets" {
  type    = list(string)
  default = []
}

variable "workers_group_defaults" {
  type    = any
  default = {}
}

variable "worker_groups" {
  type    = any
  default = []
}

variable "worker_groups_launch_template" {
  type    = any
  default = []
}

# AWS providers before 5.0 know no ami_type of Amazon Linux 2023: https://github.com/hashicorp/terraform-provider-aws/pull/36046
variable "node_groups_defaults" {
  type    = any
  default = {}

  validation {
    condition     = !can(regex("^AL2023", var.node_groups_defaults.ami_type))
    error_message = "The ami_type must be one that the provider knows."
  }
}

variable "node_groups" {
  type    = any
  default = {}

  validation {
    condition     = !anytrue([for group in var.node_groups : can(regex("^AL2023", group.ami_type))])
    error_message = "The ami_type must be one that the provider knows."
  }
}

# of managed groups without a template; up to 15 the module gives none
variable "managed_disk_size" {
  type    = number
  default = 100
}

# gp2 or gp3, which changed four times between 12 and 17
data "aws_ami" "eks_worker" {}

locals {
  owner = "kubernetes.io/cluster/${try(aws_eks_cluster.this[0].name, var.cluster_name)}"

  managed      = { for k, v in var.node_groups : k => v if var.create_eks }
  own_template = { for k, v in local.managed : k => v if try(v.create_launch_template, var.node_groups_defaults.create_launch_template, false) && try(v.launch_template_id, var.node_groups_defaults.launch_template_id, var.workers_group_defaults.launch_template_id, null) == null }
}

resource "aws_eks_cluster" "this" {
  count = var.create_eks ? 1 : 0

  name    = var.cluster_name
  version = var.cluster_version

  network_id = var.vpc_id # not of the resource: the VPC of its subnets

  vpc_config {
    endpoint_public_access = var.cluster_endpoint_public_access
    public_access_cidrs    = var.cluster_endpoint_public_access_cidrs
  }

  kubernetes_network_config {
    service_ipv4_cidr = var.cluster_service_ipv4_cidr
  }
}

resource "aws_eks_fargate_profile" "this" {
  for_each = { for key, profile in var.fargate_profiles : key => profile if var.create_eks }

  cluster_name         = aws_eks_cluster.this[0].name
  fargate_profile_name = try(each.value.name, each.key)
}

resource "aws_launch_template" "node_groups" {
  for_each = local.own_template

  user_data = join("\n", compact([
    try(each.value.pre_userdata, var.node_groups_defaults.pre_userdata, var.workers_group_defaults.pre_userdata, ""),
    try(each.value.kubelet_extra_args, var.node_groups_defaults.kubelet_extra_args, var.workers_group_defaults.kubelet_extra_args, ""),
  ]))

  block_device_mappings {
    ebs {
      volume_size = try(each.value.disk_size, var.node_groups_defaults.disk_size, var.workers_group_defaults.root_volume_size, 100)
      volume_type = try(each.value.disk_type, var.node_groups_defaults.disk_type, var.workers_group_defaults.root_volume_type, data.aws_ami.eks_worker.root_volume_type)
    }
  }
}

resource "aws_eks_node_group" "workers" {
  for_each = local.managed

  cluster_name    = aws_eks_cluster.this[0].name
  node_group_name = try(each.value.name, each.value.name_prefix, each.key)
  subnet_ids      = try(each.value.subnets, var.node_groups_defaults.subnets, var.workers_group_defaults.subnets, var.subnets)
  ami_type        = try(each.value.ami_type, var.node_groups_defaults.ami_type, null)
  capacity_type   = try(each.value.capacity_type, var.node_groups_defaults.capacity_type, null)
  disk_size       = contains(keys(local.own_template), each.key) || try(each.value.launch_template_id, var.node_groups_defaults.launch_template_id, var.workers_group_defaults.launch_template_id, null) != null ? null : try(each.value.disk_size, var.node_groups_defaults.disk_size, var.managed_disk_size == null ? null : try(var.workers_group_defaults.root_volume_size, var.managed_disk_size))
  instance_types  = try(each.value.instance_types, [each.value.instance_type], var.node_groups_defaults.instance_types, [var.node_groups_defaults.instance_type], [var.workers_group_defaults.instance_type], ["m4.large"])
  labels          = merge(try(var.node_groups_defaults.k8s_labels, {}), try(each.value.k8s_labels, {}))

  scaling_config {
    min_size     = try(each.value.min_capacity, var.node_groups_defaults.min_capacity, var.workers_group_defaults.asg_min_size, 1)
    max_size     = try(each.value.max_capacity, var.node_groups_defaults.max_capacity, var.workers_group_defaults.asg_max_size, 3)
    desired_size = try(each.value.desired_capacity, var.node_groups_defaults.desired_capacity, var.workers_group_defaults.asg_desired_capacity, 1)
  }

  update_config {
    max_unavailable            = try(each.value.update_config.max_unavailable, null)
    max_unavailable_percentage = try(each.value.update_config.max_unavailable_percentage, null)
  }

  dynamic "launch_template" {
    for_each = contains(keys(local.own_template), each.key) ? [aws_launch_template.node_groups[each.key].id] : compact([try(each.value.launch_template_id, var.node_groups_defaults.launch_template_id, var.workers_group_defaults.launch_template_id, null)])

    content {
      id = launch_template.value
    }
  }

  dynamic "taint" {
    for_each = try(each.value.taints, var.node_groups_defaults.taints, [])

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

# the module makes a launch configuration; it says the same
resource "aws_launch_template" "workers" {
  count = var.create_eks ? length(var.worker_groups) : 0

  instance_type = try(var.worker_groups[count.index].instance_type, var.workers_group_defaults.instance_type, "m4.large")

  user_data = join("\n", compact([
    try(var.worker_groups[count.index].pre_userdata, var.workers_group_defaults.pre_userdata, ""),
    try(var.worker_groups[count.index].additional_userdata, var.workers_group_defaults.additional_userdata, ""),
    try(var.worker_groups[count.index].bootstrap_extra_args, var.workers_group_defaults.bootstrap_extra_args, ""),
    try(var.worker_groups[count.index].kubelet_extra_args, var.workers_group_defaults.kubelet_extra_args, ""),
    try(var.worker_groups[count.index].userdata_template_file, var.workers_group_defaults.userdata_template_file, ""),
  ]))

  dynamic "instance_market_options" {
    for_each = try(var.worker_groups[count.index].spot_price, var.workers_group_defaults.spot_price, "") == "" ? [] : ["spot"]

    content {
      market_type = instance_market_options.value
    }
  }

  block_device_mappings {
    ebs {
      volume_size = try(var.worker_groups[count.index].root_volume_size, var.workers_group_defaults.root_volume_size, 100)
      volume_type = try(var.worker_groups[count.index].root_volume_type, var.workers_group_defaults.root_volume_type, data.aws_ami.eks_worker.root_volume_type)
    }
  }
}

resource "aws_autoscaling_group" "workers" {
  count = var.create_eks ? length(var.worker_groups) : 0

  name_prefix         = try(var.worker_groups[count.index].name, count.index)
  vpc_zone_identifier = try(var.worker_groups[count.index].subnets, var.workers_group_defaults.subnets, var.subnets)
  min_size            = try(var.worker_groups[count.index].asg_min_size, var.workers_group_defaults.asg_min_size, 1)
  max_size            = try(var.worker_groups[count.index].asg_max_size, var.workers_group_defaults.asg_max_size, 3)
  desired_capacity    = try(var.worker_groups[count.index].asg_desired_capacity, var.workers_group_defaults.asg_desired_capacity, 1)

  launch_template {
    id = aws_launch_template.workers[count.index].id
  }

  tag {
    key   = local.owner
    value = "owned"
  }

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_launch_template" "workers_launch_template" {
  count = var.create_eks ? length(var.worker_groups_launch_template) : 0

  instance_type = try(var.worker_groups_launch_template[count.index].instance_type, var.workers_group_defaults.instance_type, "m4.large")

  user_data = join("\n", compact([
    try(var.worker_groups_launch_template[count.index].pre_userdata, var.workers_group_defaults.pre_userdata, ""),
    try(var.worker_groups_launch_template[count.index].additional_userdata, var.workers_group_defaults.additional_userdata, ""),
    try(var.worker_groups_launch_template[count.index].bootstrap_extra_args, var.workers_group_defaults.bootstrap_extra_args, ""),
    try(var.worker_groups_launch_template[count.index].kubelet_extra_args, var.workers_group_defaults.kubelet_extra_args, ""),
    try(var.worker_groups_launch_template[count.index].userdata_template_file, var.workers_group_defaults.userdata_template_file, ""),
  ]))

  dynamic "instance_market_options" {
    for_each = try(var.worker_groups_launch_template[count.index].market_type, var.workers_group_defaults.market_type, null) == null ? [] : [try(var.worker_groups_launch_template[count.index].market_type, var.workers_group_defaults.market_type)]

    content {
      market_type = instance_market_options.value
    }
  }

  dynamic "placement" {
    for_each = try(var.worker_groups_launch_template[count.index].launch_template_placement_group, var.workers_group_defaults.launch_template_placement_group, null) == null ? [] : [try(var.worker_groups_launch_template[count.index].launch_template_placement_group, var.workers_group_defaults.launch_template_placement_group)]

    content {
      group_name = placement.value
    }
  }

  network_interfaces {
    interface_type = try(var.worker_groups_launch_template[count.index].interface_type, var.workers_group_defaults.interface_type, null)
  }

  block_device_mappings {
    ebs {
      volume_size = try(var.worker_groups_launch_template[count.index].root_volume_size, var.workers_group_defaults.root_volume_size, 100)
      volume_type = try(var.worker_groups_launch_template[count.index].root_volume_type, var.workers_group_defaults.root_volume_type, data.aws_ami.eks_worker.root_volume_type)
    }
  }
}

resource "aws_autoscaling_group" "workers_launch_template" {
  count = var.create_eks ? length(var.worker_groups_launch_template) : 0

  name_prefix         = try(var.worker_groups_launch_template[count.index].name, count.index)
  vpc_zone_identifier = try(var.worker_groups_launch_template[count.index].subnets, var.workers_group_defaults.subnets, var.subnets)
  min_size            = try(var.worker_groups_launch_template[count.index].asg_min_size, var.workers_group_defaults.asg_min_size, 1)
  max_size            = try(var.worker_groups_launch_template[count.index].asg_max_size, var.workers_group_defaults.asg_max_size, 3)
  desired_capacity    = try(var.worker_groups_launch_template[count.index].asg_desired_capacity, var.workers_group_defaults.asg_desired_capacity, 1)

  launch_template {
    id = aws_launch_template.workers_launch_template[count.index].id
  }

  # also with on_demand_allocation_strategy alone, and then for four types of the module's
  dynamic "mixed_instances_policy" {
    for_each = can(var.worker_groups_launch_template[count.index].override_instance_types) || try(var.worker_groups_launch_template[count.index].on_demand_allocation_strategy, var.workers_group_defaults.on_demand_allocation_strategy, null) != null ? [var.worker_groups_launch_template[count.index]] : []

    content {
      instances_distribution {
        on_demand_base_capacity                  = try(mixed_instances_policy.value.on_demand_base_capacity, var.workers_group_defaults.on_demand_base_capacity, 0)
        on_demand_percentage_above_base_capacity = try(mixed_instances_policy.value.on_demand_percentage_above_base_capacity, var.workers_group_defaults.on_demand_percentage_above_base_capacity, 0)
      }

      launch_template {
        override = [for type in try(mixed_instances_policy.value.override_instance_types, var.workers_group_defaults.override_instance_types, ["m5.large", "m5a.large", "m5d.large", "m5ad.large"]) : { instance_type = type }]
      }
    }
  }

  tag {
    key   = local.owner
    value = "owned"
  }

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

output "cluster_id" {
  value = try(aws_eks_cluster.this[0].name, "")
}

output "cluster_version" {
  value = try(aws_eks_cluster.this[0].version, null)
}
