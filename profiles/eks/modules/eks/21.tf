# terraform-aws-modules/eks/aws 21: typed groups, no group defaults, no add-ons unless asked for.
variable "create" {
  type    = bool
  default = true
}

variable "vpc_id" {
  type    = string
  default = null
}

variable "region" {
  type    = string
  default = null
}

variable "fargate_profiles" {
  type    = any
  default = {}
}

variable "name" {
  type    = string
  default = ""
}

variable "kubernetes_version" {
  type    = string
  default = null
}

variable "compute_config" {
  type    = object({ enabled = optional(bool, false) })
  default = null
}

variable "control_plane_scaling_config" {
  type    = object({ tier = string })
  default = null
}

variable "upgrade_policy" {
  type    = object({ support_type = optional(string) })
  default = null
}

variable "ip_family" {
  type    = string
  default = "ipv4"
}

variable "endpoint_public_access" {
  type    = bool
  default = false
}

variable "endpoint_public_access_cidrs" {
  type    = list(string)
  default = ["0.0.0.0/0"]
}

variable "service_ipv4_cidr" {
  type    = string
  default = null
}

variable "subnet_ids" {
  type    = list(string)
  default = []
}

variable "addons" {
  type = map(object({
    name                 = optional(string)
    configuration_values = optional(string)
  }))
  default = null
}

variable "eks_managed_node_groups" {
  type = map(object({
    create         = optional(bool, true)
    name           = optional(string)
    subnet_ids     = optional(list(string))
    min_size       = optional(number, 1)
    max_size       = optional(number, 3)
    desired_size   = optional(number, 1)
    ami_id         = optional(string, "")
    ami_type       = optional(string, "AL2023_x86_64_STANDARD")
    capacity_type  = optional(string, "ON_DEMAND")
    disk_size      = optional(number)
    instance_types = optional(list(string))
    labels         = optional(map(string))
    taints         = optional(map(object({ key = string, value = optional(string), effect = string })), {})
    update_config = optional(object({
      max_unavailable            = optional(number)
      max_unavailable_percentage = optional(number)
      update_strategy            = optional(string)
    }), { max_unavailable_percentage = 33 })
    force_update_version           = optional(bool)
    use_latest_ami_release_version = optional(bool, true)
    create_launch_template         = optional(bool, true)
    use_custom_launch_template     = optional(bool, true)
    block_device_mappings = optional(map(object({
      device_name = optional(string)
      ebs         = optional(object({ volume_size = optional(number), volume_type = optional(string) }))
    })), {})
    enable_bootstrap_user_data = optional(bool, false)
    pre_bootstrap_user_data    = optional(string)
    post_bootstrap_user_data   = optional(string)
    bootstrap_extra_args       = optional(string)
    cloudinit_pre_nodeadm      = optional(list(object({ content = string })), [])
    cloudinit_post_nodeadm     = optional(list(object({ content = string })), [])
    user_data_template_path    = optional(string)
    capacity_reservation_specification = optional(object({
      capacity_reservation_target = optional(object({ capacity_reservation_id = optional(string), capacity_reservation_resource_group_arn = optional(string) }))
    }))
    instance_market_options = optional(object({ market_type = optional(string) }))
    enable_efa_support      = optional(bool, false)
    create_placement_group  = optional(bool, false)
    placement               = optional(object({ group_name = optional(string) }))
    enable_efa_only         = optional(bool, true)
    efa_indices             = optional(list(number), [0])
    network_interfaces      = optional(list(object({ network_card_index = optional(number), interface_type = optional(string) })), [])
  }))
  default = {}
}

variable "self_managed_node_groups" {
  type = map(object({
    create                     = optional(bool, true)
    name                       = optional(string)
    subnet_ids                 = optional(list(string))
    min_size                   = optional(number, 1)
    max_size                   = optional(number, 3)
    desired_size               = optional(number, 1)
    instance_type              = optional(string, "m6i.large")
    use_mixed_instances_policy = optional(bool, false)
    mixed_instances_policy     = optional(any)
    pre_bootstrap_user_data    = optional(string)
    post_bootstrap_user_data   = optional(string)
    bootstrap_extra_args       = optional(string)
    cloudinit_pre_nodeadm      = optional(list(object({ content = string })), [])
    cloudinit_post_nodeadm     = optional(list(object({ content = string })), [])
    user_data_template_path    = optional(string)
    block_device_mappings = optional(map(object({
      device_name = optional(string)
      ebs         = optional(object({ volume_size = optional(number), volume_type = optional(string) }))
    })), {})
    capacity_reservation_specification = optional(object({
      capacity_reservation_target = optional(object({ capacity_reservation_id = optional(string), capacity_reservation_resource_group_arn = optional(string) }))
    }))
    instance_market_options = optional(object({ market_type = optional(string) }))
    enable_efa_support      = optional(bool, false)
    create_placement_group  = optional(bool, false)
    placement               = optional(object({ group_name = optional(string) }))
    enable_efa_only         = optional(bool, true)
    efa_indices             = optional(list(number), [0])
    network_interfaces      = optional(list(object({ network_card_index = optional(number), interface_type = optional(string) })), [])
  }))
  default = {}
}

resource "aws_eks_cluster" "this" {
  count = var.create ? 1 : 0

  name    = var.name
  version = var.kubernetes_version
  region  = var.region

  network_id = var.vpc_id # not of the resource: the VPC of its subnets

  vpc_config {
    endpoint_public_access = var.endpoint_public_access
    public_access_cidrs    = var.endpoint_public_access_cidrs
  }

  compute_config {
    enabled = var.compute_config == null ? false : var.compute_config.enabled
  }

  dynamic "control_plane_scaling_config" {
    for_each = var.control_plane_scaling_config == null ? [] : [var.control_plane_scaling_config]

    content {
      tier = control_plane_scaling_config.value.tier
    }
  }

  dynamic "upgrade_policy" {
    for_each = var.upgrade_policy == null ? [] : [var.upgrade_policy]

    content {
      support_type = upgrade_policy.value.support_type
    }
  }

  kubernetes_network_config {
    ip_family         = var.ip_family
    service_ipv4_cidr = var.service_ipv4_cidr
  }
}

resource "aws_eks_fargate_profile" "this" {
  for_each = { for key, profile in(var.fargate_profiles == null ? {} : var.fargate_profiles) : key => profile if var.create }

  cluster_name         = aws_eks_cluster.this[0].name
  fargate_profile_name = try(each.value.name, each.key)
}

resource "aws_eks_addon" "this" {
  for_each = var.create && var.addons != null ? var.addons : {}

  cluster_name         = aws_eks_cluster.this[0].name
  addon_name           = coalesce(each.value.name, each.key)
  configuration_values = each.value.configuration_values
}

# for EFA the module asks AWS how many cards the instance type has: here the second one stands for the others
resource "aws_launch_template" "this" {
  for_each = { for k, v in var.eks_managed_node_groups == null ? {} : var.eks_managed_node_groups : k => v if var.create && v.create }

  # what the caller adds to the start of a node; the module writes it out
  user_data = join("\n", compact([
    each.value.pre_bootstrap_user_data,
    each.value.post_bootstrap_user_data,
    each.value.bootstrap_extra_args,
    join("\n", each.value.cloudinit_pre_nodeadm[*].content),
    join("\n", each.value.cloudinit_post_nodeadm[*].content),
    each.value.user_data_template_path,
    each.value.enable_bootstrap_user_data ? "bootstrap.sh" : "",
  ]))

  dynamic "capacity_reservation_specification" {
    for_each = each.value.capacity_reservation_specification == null ? [] : [each.value.capacity_reservation_specification]

    content {
      capacity_reservation_target = try([capacity_reservation_specification.value.capacity_reservation_target], [])
    }
  }

  dynamic "instance_market_options" {
    for_each = each.value.instance_market_options == null ? [] : [each.value.instance_market_options]

    content {
      market_type = try(instance_market_options.value.market_type, null)
    }
  }

  dynamic "block_device_mappings" {
    for_each = each.value.block_device_mappings

    content {
      device_name = block_device_mappings.value.device_name

      dynamic "ebs" {
        for_each = block_device_mappings.value.ebs == null ? [] : [block_device_mappings.value.ebs]

        content {
          volume_size = ebs.value.volume_size
          volume_type = ebs.value.volume_type
        }
      }
    }
  }

  dynamic "placement" {
    for_each = each.value.enable_efa_support || each.value.create_placement_group ? [{ group_name = "placement group of the module" }] : each.value.placement == null ? [] : [each.value.placement]

    content {
      group_name = try(placement.value.group_name, null)
    }
  }

  dynamic "network_interfaces" {
    for_each = each.value.enable_efa_support ? [
      { network_card_index = 0, interface_type = "efa" },
      { network_card_index = 1, interface_type = each.value.enable_efa_only && !contains(each.value.efa_indices, 1) ? "efa-only" : "efa" },
    ] : each.value.network_interfaces

    content {
      network_card_index = network_interfaces.value.network_card_index
      interface_type     = network_interfaces.value.interface_type
    }
  }
}

resource "aws_eks_node_group" "this" {
  for_each = { for k, v in var.eks_managed_node_groups == null ? {} : var.eks_managed_node_groups : k => v if var.create && v.create }

  cluster_name    = aws_eks_cluster.this[0].name
  node_group_name = coalesce(each.value.name, each.key)
  subnet_ids      = coalesce(each.value.subnet_ids, var.subnet_ids)
  ami_type        = each.value.ami_id != "" ? null : each.value.ami_type
  capacity_type   = each.value.capacity_type
  disk_size       = each.value.use_custom_launch_template ? null : each.value.disk_size
  instance_types  = each.value.instance_types
  labels          = each.value.labels

  force_update_version           = each.value.force_update_version
  use_latest_ami_release_version = each.value.ami_id != "" ? false : each.value.use_latest_ami_release_version # not of the provider: looks the image up at each plan
  release_version                = each.value.ami_id                                                           # not so in the module: the image, to see where it is looked up

  scaling_config {
    min_size     = each.value.min_size
    max_size     = each.value.max_size
    desired_size = each.value.desired_size
  }

  update_config {
    max_unavailable            = each.value.update_config.max_unavailable
    max_unavailable_percentage = each.value.update_config.max_unavailable_percentage
    update_strategy            = each.value.update_config.update_strategy
  }

  dynamic "launch_template" {
    for_each = each.value.use_custom_launch_template && each.value.create_launch_template ? [1] : []

    content {
      id = aws_launch_template.this[each.key].id
    }
  }

  dynamic "taint" {
    for_each = each.value.taints

    content {
      key    = taint.value.key
      value  = taint.value.value
      effect = taint.value.effect
    }
  }

  lifecycle {
    ignore_changes = [scaling_config[0].desired_size]
  }
}

resource "aws_launch_template" "self_managed" {
  for_each = { for k, v in var.self_managed_node_groups == null ? {} : var.self_managed_node_groups : k => v if var.create && v.create }

  instance_type = each.value.instance_type

  user_data = join("\n", compact([
    each.value.pre_bootstrap_user_data,
    each.value.post_bootstrap_user_data,
    each.value.bootstrap_extra_args,
    join("\n", each.value.cloudinit_pre_nodeadm[*].content),
    join("\n", each.value.cloudinit_post_nodeadm[*].content),
    each.value.user_data_template_path,
  ]))

  dynamic "capacity_reservation_specification" {
    for_each = each.value.capacity_reservation_specification == null ? [] : [each.value.capacity_reservation_specification]

    content {
      capacity_reservation_target = try([capacity_reservation_specification.value.capacity_reservation_target], [])
    }
  }

  dynamic "instance_market_options" {
    for_each = each.value.instance_market_options == null ? [] : [each.value.instance_market_options]

    content {
      market_type = try(instance_market_options.value.market_type, null)
    }
  }

  dynamic "block_device_mappings" {
    for_each = each.value.block_device_mappings

    content {
      device_name = block_device_mappings.value.device_name

      dynamic "ebs" {
        for_each = block_device_mappings.value.ebs == null ? [] : [block_device_mappings.value.ebs]

        content {
          volume_size = ebs.value.volume_size
          volume_type = ebs.value.volume_type
        }
      }
    }
  }

  dynamic "placement" {
    for_each = each.value.enable_efa_support || each.value.create_placement_group ? [{ group_name = "placement group of the module" }] : each.value.placement == null ? [] : [each.value.placement]

    content {
      group_name = try(placement.value.group_name, null)
    }
  }

  dynamic "network_interfaces" {
    for_each = each.value.enable_efa_support ? [
      { network_card_index = 0, interface_type = "efa" },
      { network_card_index = 1, interface_type = each.value.enable_efa_only && !contains(each.value.efa_indices, 1) ? "efa-only" : "efa" },
    ] : each.value.network_interfaces

    content {
      network_card_index = network_interfaces.value.network_card_index
      interface_type     = network_interfaces.value.interface_type
    }
  }
}

resource "aws_autoscaling_group" "self_managed" {
  for_each = { for k, v in var.self_managed_node_groups == null ? {} : var.self_managed_node_groups : k => v if var.create && v.create }

  name                = coalesce(each.value.name, each.key)
  vpc_zone_identifier = coalesce(each.value.subnet_ids, var.subnet_ids)
  min_size            = each.value.min_size
  max_size            = each.value.max_size
  desired_capacity    = each.value.desired_size

  launch_template {
    id = aws_launch_template.self_managed[each.key].id
  }

  dynamic "mixed_instances_policy" {
    for_each = each.value.use_mixed_instances_policy ? [each.value.mixed_instances_policy] : []

    content {
      instances_distribution {
        on_demand_base_capacity                  = try(mixed_instances_policy.value.instances_distribution.on_demand_base_capacity, null)
        on_demand_percentage_above_base_capacity = try(mixed_instances_policy.value.instances_distribution.on_demand_percentage_above_base_capacity, null)
      }

      launch_template {
        override = try(mixed_instances_policy.value.launch_template.override, [])
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
