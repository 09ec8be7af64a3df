# terraform-aws-modules/eks/aws 18 to 20: inputs begin with cluster_, groups fall back to *_group_defaults.
variable "create" {
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

variable "cluster_upgrade_policy" {
  type    = any
  default = {}
}

variable "cluster_compute_config" {
  type    = any
  default = {}
}

# true up to 18
variable "cluster_endpoint_public_access" {
  type    = bool
  default = null
}

variable "cluster_endpoint_public_access_cidrs" {
  type    = list(string)
  default = ["0.0.0.0/0"]
}

variable "cluster_ip_family" {
  type    = string
  default = null
}

variable "cluster_service_ipv4_cidr" {
  type    = string
  default = null
}

variable "subnet_ids" {
  type    = list(string)
  default = []
}

variable "cluster_addons" {
  type    = any
  default = {}
}

variable "eks_managed_node_groups" {
  type    = any
  default = {}
}

variable "eks_managed_node_group_defaults" {
  type    = any
  default = {}
}

variable "self_managed_node_groups" {
  type    = any
  default = {}
}

variable "self_managed_node_group_defaults" {
  type    = any
  default = {}
}

# what the module keeps to itself: nothing in 18, where EKS replaces one node at a time
variable "default_update_config" {
  type    = map(number)
  default = { max_unavailable_percentage = 33 }
}

locals {
  managed_subnets      = { for k, v in var.eks_managed_node_groups : k => try(v.subnet_ids, var.eks_managed_node_group_defaults.subnet_ids, var.subnet_ids) }
  self_managed_subnets = { for k, v in var.self_managed_node_groups : k => try(v.subnet_ids, var.self_managed_node_group_defaults.subnet_ids, var.subnet_ids) }
}

resource "aws_eks_cluster" "this" {
  count = var.create ? 1 : 0

  name    = var.cluster_name
  version = var.cluster_version

  network_id = var.vpc_id # not of the resource: the VPC of its subnets

  vpc_config {
    endpoint_public_access = var.cluster_endpoint_public_access
    public_access_cidrs    = var.cluster_endpoint_public_access == true ? var.cluster_endpoint_public_access_cidrs : null
  }

  compute_config {
    enabled = try(var.cluster_compute_config.enabled, false)
  }

  dynamic "upgrade_policy" {
    for_each = length(var.cluster_upgrade_policy) > 0 ? [var.cluster_upgrade_policy] : []

    content {
      support_type = try(upgrade_policy.value.support_type, null)
    }
  }

  kubernetes_network_config {
    ip_family         = var.cluster_ip_family
    service_ipv4_cidr = var.cluster_service_ipv4_cidr
  }
}

resource "aws_eks_fargate_profile" "this" {
  for_each = { for key, profile in var.fargate_profiles : key => profile if var.create }

  cluster_name         = aws_eks_cluster.this[0].name
  fargate_profile_name = try(each.value.name, each.key)
}

resource "aws_eks_addon" "this" {
  for_each = { for k, v in var.cluster_addons : k => v if var.create }

  cluster_name         = aws_eks_cluster.this[0].name
  addon_name           = try(each.value.name, each.key)
  configuration_values = try(each.value.configuration_values, null)
}

# with EFA or a placement group (from 20.4 on) only the subnets in zones that offer the instance type: AWS knows which
data "aws_subnets" "placement_group" {}

# for EFA the module asks AWS how many cards the instance type has: here the second one stands for the others
resource "aws_launch_template" "this" {
  for_each = { for k, v in var.eks_managed_node_groups : k => v if var.create && try(v.create, true) }

  # what the caller adds to the start of a node; the module writes it out
  user_data = join("\n", compact([
    try(each.value.pre_bootstrap_user_data, var.eks_managed_node_group_defaults.pre_bootstrap_user_data, ""),
    try(each.value.post_bootstrap_user_data, var.eks_managed_node_group_defaults.post_bootstrap_user_data, ""),
    try(each.value.bootstrap_extra_args, var.eks_managed_node_group_defaults.bootstrap_extra_args, ""),
    try(join("\n", each.value.cloudinit_pre_nodeadm[*].content), join("\n", var.eks_managed_node_group_defaults.cloudinit_pre_nodeadm[*].content), ""),
    try(join("\n", each.value.cloudinit_post_nodeadm[*].content), join("\n", var.eks_managed_node_group_defaults.cloudinit_post_nodeadm[*].content), ""),
    try(each.value.user_data_template_path, var.eks_managed_node_group_defaults.user_data_template_path, ""),
    try(each.value.enable_bootstrap_user_data, var.eks_managed_node_group_defaults.enable_bootstrap_user_data, false) ? "bootstrap.sh" : "",
  ]))

  dynamic "capacity_reservation_specification" {
    for_each = try(each.value.capacity_reservation_specification, var.eks_managed_node_group_defaults.capacity_reservation_specification, null) == null ? [] : [try(each.value.capacity_reservation_specification, var.eks_managed_node_group_defaults.capacity_reservation_specification, null)]

    content {
      capacity_reservation_target = try([capacity_reservation_specification.value.capacity_reservation_target], [])
    }
  }

  dynamic "instance_market_options" {
    for_each = try(each.value.instance_market_options, var.eks_managed_node_group_defaults.instance_market_options, null) == null ? [] : [try(each.value.instance_market_options, var.eks_managed_node_group_defaults.instance_market_options, null)]

    content {
      market_type = try(instance_market_options.value.market_type, null)
    }
  }

  dynamic "block_device_mappings" {
    for_each = try(each.value.block_device_mappings, var.eks_managed_node_group_defaults.block_device_mappings, {})

    content {
      device_name = try(block_device_mappings.value.device_name, null)

      dynamic "ebs" {
        for_each = try([block_device_mappings.value.ebs], [])

        content {
          volume_size = try(ebs.value.volume_size, null)
          volume_type = try(ebs.value.volume_type, null)
        }
      }
    }
  }

  dynamic "placement" {
    for_each = try(each.value.enable_efa_support, var.eks_managed_node_group_defaults.enable_efa_support, false) || try(each.value.create_placement_group, var.eks_managed_node_group_defaults.create_placement_group, false) ? [{ group_name = "placement group of the module" }] : try(each.value.placement, var.eks_managed_node_group_defaults.placement, null) == null ? [] : [try(each.value.placement, var.eks_managed_node_group_defaults.placement, null)]

    content {
      group_name = try(placement.value.group_name, null)
    }
  }

  dynamic "network_interfaces" {
    for_each = try(each.value.enable_efa_support, var.eks_managed_node_group_defaults.enable_efa_support, false) ? [
      { network_card_index = 0, interface_type = "efa" },
      { network_card_index = 1, interface_type = try(each.value.enable_efa_only, var.eks_managed_node_group_defaults.enable_efa_only, false) && !contains(try(each.value.efa_indices, var.eks_managed_node_group_defaults.efa_indices, [0]), 1) ? "efa-only" : "efa" },
    ] : try(each.value.network_interfaces, var.eks_managed_node_group_defaults.network_interfaces, [])

    content {
      network_card_index = try(network_interfaces.value.network_card_index, null)
      interface_type     = try(network_interfaces.value.interface_type, null)
    }
  }
}

# create_launch_template = false without a launch_template_id: up to 18 this alone gave the template of EKS
resource "aws_eks_node_group" "this" {
  for_each = { for k, v in var.eks_managed_node_groups : k => v if var.create && try(v.create, true) }

  cluster_name    = aws_eks_cluster.this[0].name
  node_group_name = try(each.value.name, each.key)
  subnet_ids      = (try(each.value.enable_efa_support, var.eks_managed_node_group_defaults.enable_efa_support, false) || try(each.value.create_placement_group, var.eks_managed_node_group_defaults.create_placement_group, false)) && length(local.managed_subnets[each.key]) > 1 && length(data.aws_subnets.placement_group.ids) < length(local.managed_subnets[each.key]) ? data.aws_subnets.placement_group.ids : local.managed_subnets[each.key]
  ami_type        = try(each.value.ami_id, var.eks_managed_node_group_defaults.ami_id, "") != "" ? null : try(each.value.ami_type, var.eks_managed_node_group_defaults.ami_type, null)
  capacity_type   = try(each.value.capacity_type, var.eks_managed_node_group_defaults.capacity_type, null)
  disk_size       = try(each.value.use_custom_launch_template, var.eks_managed_node_group_defaults.use_custom_launch_template, true) && (try(each.value.create_launch_template, var.eks_managed_node_group_defaults.create_launch_template, true) || try(each.value.launch_template_id, var.eks_managed_node_group_defaults.launch_template_id, "") != "") ? null : try(each.value.disk_size, var.eks_managed_node_group_defaults.disk_size, null)
  instance_types  = try(each.value.instance_types, var.eks_managed_node_group_defaults.instance_types, null)
  labels          = try(each.value.labels, var.eks_managed_node_group_defaults.labels, null)

  force_update_version           = try(each.value.force_update_version, var.eks_managed_node_group_defaults.force_update_version, null)
  use_latest_ami_release_version = try(each.value.use_latest_ami_release_version, var.eks_managed_node_group_defaults.use_latest_ami_release_version, false) # not of the provider: looks the image up at each plan
  release_version                = try(each.value.ami_id, var.eks_managed_node_group_defaults.ami_id, null)                                                  # not so in the module: the image, to see where it is looked up

  scaling_config {
    min_size     = try(each.value.min_size, var.eks_managed_node_group_defaults.min_size, 1)
    max_size     = try(each.value.max_size, var.eks_managed_node_group_defaults.max_size, 3)
    desired_size = try(each.value.desired_size, var.eks_managed_node_group_defaults.desired_size, 1)
  }

  update_config {
    max_unavailable            = try(each.value.update_config.max_unavailable, var.eks_managed_node_group_defaults.update_config.max_unavailable, null)
    max_unavailable_percentage = try(try(each.value.update_config, var.eks_managed_node_group_defaults.update_config, var.default_update_config).max_unavailable_percentage, null)
  }

  dynamic "launch_template" {
    for_each = try(each.value.use_custom_launch_template, var.eks_managed_node_group_defaults.use_custom_launch_template, true) && try(each.value.create_launch_template, var.eks_managed_node_group_defaults.create_launch_template, true) ? [1] : []

    content {
      id = aws_launch_template.this[each.key].id
    }
  }

  dynamic "taint" {
    for_each = try(each.value.taints, var.eks_managed_node_group_defaults.taints, {})

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
  for_each = { for k, v in var.self_managed_node_groups : k => v if var.create && try(v.create, true) }

  instance_type = try(each.value.instance_type, var.self_managed_node_group_defaults.instance_type, "m6i.large")

  user_data = join("\n", compact([
    try(each.value.pre_bootstrap_user_data, var.self_managed_node_group_defaults.pre_bootstrap_user_data, ""),
    try(each.value.post_bootstrap_user_data, var.self_managed_node_group_defaults.post_bootstrap_user_data, ""),
    try(each.value.bootstrap_extra_args, var.self_managed_node_group_defaults.bootstrap_extra_args, ""),
    try(join("\n", each.value.cloudinit_pre_nodeadm[*].content), join("\n", var.self_managed_node_group_defaults.cloudinit_pre_nodeadm[*].content), ""),
    try(join("\n", each.value.cloudinit_post_nodeadm[*].content), join("\n", var.self_managed_node_group_defaults.cloudinit_post_nodeadm[*].content), ""),
    try(each.value.user_data_template_path, var.self_managed_node_group_defaults.user_data_template_path, ""),
  ]))

  dynamic "capacity_reservation_specification" {
    for_each = try(each.value.capacity_reservation_specification, var.self_managed_node_group_defaults.capacity_reservation_specification, null) == null ? [] : [try(each.value.capacity_reservation_specification, var.self_managed_node_group_defaults.capacity_reservation_specification, null)]

    content {
      capacity_reservation_target = try([capacity_reservation_specification.value.capacity_reservation_target], [])
    }
  }

  dynamic "instance_market_options" {
    for_each = try(each.value.instance_market_options, var.self_managed_node_group_defaults.instance_market_options, null) == null ? [] : [try(each.value.instance_market_options, var.self_managed_node_group_defaults.instance_market_options, null)]

    content {
      market_type = try(instance_market_options.value.market_type, null)
    }
  }

  dynamic "block_device_mappings" {
    for_each = try(each.value.block_device_mappings, var.self_managed_node_group_defaults.block_device_mappings, {})

    content {
      device_name = try(block_device_mappings.value.device_name, null)

      dynamic "ebs" {
        for_each = try([block_device_mappings.value.ebs], [])

        content {
          volume_size = try(ebs.value.volume_size, null)
          volume_type = try(ebs.value.volume_type, null)
        }
      }
    }
  }

  dynamic "placement" {
    for_each = try(each.value.enable_efa_support, var.self_managed_node_group_defaults.enable_efa_support, false) || try(each.value.create_placement_group, var.self_managed_node_group_defaults.create_placement_group, false) ? [{ group_name = "placement group of the module" }] : try(each.value.placement, var.self_managed_node_group_defaults.placement, null) == null ? [] : [try(each.value.placement, var.self_managed_node_group_defaults.placement, null)]

    content {
      group_name = try(placement.value.group_name, null)
    }
  }

  dynamic "network_interfaces" {
    for_each = try(each.value.enable_efa_support, var.self_managed_node_group_defaults.enable_efa_support, false) ? [
      { network_card_index = 0, interface_type = "efa" },
      { network_card_index = 1, interface_type = try(each.value.enable_efa_only, var.self_managed_node_group_defaults.enable_efa_only, false) && !contains(try(each.value.efa_indices, var.self_managed_node_group_defaults.efa_indices, [0]), 1) ? "efa-only" : "efa" },
    ] : try(each.value.network_interfaces, var.self_managed_node_group_defaults.network_interfaces, [])

    content {
      network_card_index = try(network_interfaces.value.network_card_index, null)
      interface_type     = try(network_interfaces.value.interface_type, null)
    }
  }
}

resource "aws_autoscaling_group" "self_managed" {
  for_each = { for k, v in var.self_managed_node_groups : k => v if var.create && try(v.create, true) }

  name                = try(each.value.name, each.key)
  vpc_zone_identifier = (try(each.value.enable_efa_support, var.self_managed_node_group_defaults.enable_efa_support, false) || try(each.value.create_placement_group, var.self_managed_node_group_defaults.create_placement_group, false)) && length(local.self_managed_subnets[each.key]) > 1 && length(data.aws_subnets.placement_group.ids) < length(local.self_managed_subnets[each.key]) ? data.aws_subnets.placement_group.ids : local.self_managed_subnets[each.key]
  min_size            = try(each.value.min_size, var.self_managed_node_group_defaults.min_size, 0)
  max_size            = try(each.value.max_size, var.self_managed_node_group_defaults.max_size, 3)
  desired_capacity    = try(each.value.desired_size, var.self_managed_node_group_defaults.desired_size, 1)

  launch_template {
    id = aws_launch_template.self_managed[each.key].id
  }

  dynamic "mixed_instances_policy" {
    for_each = try(each.value.use_mixed_instances_policy, var.self_managed_node_group_defaults.use_mixed_instances_policy, false) ? [try(each.value.mixed_instances_policy, var.self_managed_node_group_defaults.mixed_instances_policy, null)] : []

    content {
      instances_distribution {
        on_demand_base_capacity                  = try(mixed_instances_policy.value.instances_distribution.on_demand_base_capacity, null)
        on_demand_percentage_above_base_capacity = try(mixed_instances_policy.value.instances_distribution.on_demand_percentage_above_base_capacity, null)
      }

      launch_template {
        override = try(mixed_instances_policy.value.override, [])
      }
    }
  }

  tag {
    key   = "kubernetes.io/cluster/${aws_eks_cluster.this[0].name}"
    value = "owned"
  }

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

output "cluster_name" {
  value = try(aws_eks_cluster.this[0].name, "")
}

output "cluster_version" {
  value = try(aws_eks_cluster.this[0].version, null)
}
