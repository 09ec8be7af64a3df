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

variable "create_launch_template" {
  type    = bool
  default = true
}

variable "use_custom_launch_template" {
  type    = bool
  default = true
}

variable "ami_id" {
  type    = string
  default = ""
}

variable "block_device_mappings" {
  type    = any
  default = {}
}

variable "capacity_reservation_specification" {
  type    = any
  default = {}
}

variable "instance_market_options" {
  type    = any
  default = {}
}

variable "enable_bootstrap_user_data" {
  type    = bool
  default = false
}

variable "pre_bootstrap_user_data" {
  type    = string
  default = ""
}

variable "post_bootstrap_user_data" {
  type    = string
  default = ""
}

variable "bootstrap_extra_args" {
  type    = string
  default = ""
}

variable "cloudinit_pre_nodeadm" {
  type    = list(object({ content = string }))
  default = []
}

variable "cloudinit_post_nodeadm" {
  type    = list(object({ content = string }))
  default = []
}

variable "user_data_template_path" {
  type    = string
  default = ""
}

variable "enable_efa_support" {
  type    = bool
  default = false
}

variable "enable_efa_only" {
  type    = bool
  default = false
}

variable "efa_indices" {
  type    = list(number)
  default = [0]
}

variable "network_interfaces" {
  type    = any
  default = []
}

variable "placement" {
  type    = any
  default = {}
}

variable "create_placement_group" {
  type    = bool
  default = false
}

variable "subnet_ids" {
  type    = list(string)
  default = null
}

variable "placement_group_az" {
  type    = string
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

variable "ami_type" {
  type    = string
  default = null
}

variable "capacity_type" {
  type    = string
  default = "ON_DEMAND"
}

variable "disk_size" {
  type    = number
  default = null
}

variable "instance_types" {
  type    = list(string)
  default = null
}

variable "labels" {
  type    = map(string)
  default = null
}

variable "taints" {
  type    = any
  default = {}
}

variable "force_update_version" {
  type    = bool
  default = null
}

variable "use_latest_ami_release_version" {
  type     = bool
  default  = false
  nullable = false
}

variable "update_config" {
  type    = map(string)
  default = {}
}

# the module's default of update_config: nothing in 18, where EKS replaces one node at a time
variable "default_update_config" {
  type    = map(string)
  default = { max_unavailable_percentage = "33" }
}

# with EFA or a placement group (from 20.4 on) only the subnets in zones that offer the instance type: AWS knows which
data "aws_subnets" "placement_group" {
  filter {
    name   = "availability-zone"
    values = [var.placement_group_az]
  }
}

# for EFA the module asks AWS how many cards the instance type has: here the second one stands for the others
resource "aws_launch_template" "this" {
  count = var.create ? 1 : 0

  # what the caller adds to the start of a node; the module writes it out
  user_data = join("\n", compact([
    var.pre_bootstrap_user_data,
    var.post_bootstrap_user_data,
    var.bootstrap_extra_args,
    join("\n", var.cloudinit_pre_nodeadm[*].content),
    join("\n", var.cloudinit_post_nodeadm[*].content),
    var.user_data_template_path,
    var.enable_bootstrap_user_data ? "bootstrap.sh" : "",
  ]))

  dynamic "capacity_reservation_specification" {
    for_each = var.capacity_reservation_specification == null ? [] : [var.capacity_reservation_specification]

    content {
      capacity_reservation_target = try([capacity_reservation_specification.value.capacity_reservation_target], [])
    }
  }

  dynamic "instance_market_options" {
    for_each = var.instance_market_options == null ? [] : [var.instance_market_options]

    content {
      market_type = try(instance_market_options.value.market_type, null)
    }
  }

  dynamic "block_device_mappings" {
    for_each = var.block_device_mappings

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
    for_each = var.enable_efa_support || var.create_placement_group ? [{ group_name = "placement group of the module" }] : var.placement == null ? [] : [var.placement]

    content {
      group_name = try(placement.value.group_name, null)
    }
  }

  dynamic "network_interfaces" {
    for_each = var.enable_efa_support ? [
      { network_card_index = 0, interface_type = "efa" },
      { network_card_index = 1, interface_type = var.enable_efa_only && !contains(var.efa_indices, 1) ? "efa-only" : "efa" },
    ] : var.network_interfaces

    content {
      network_card_index = try(network_interfaces.value.network_card_index, null)
      interface_type     = try(network_interfaces.value.interface_type, null)
    }
  }
}

resource "aws_eks_node_group" "this" {
  count = var.create ? 1 : 0

  cluster_name    = var.cluster_name
  node_group_name = var.name
  subnet_ids      = (var.enable_efa_support || var.create_placement_group) && length(var.subnet_ids) > 1 && length(data.aws_subnets.placement_group.ids) < length(var.subnet_ids) ? data.aws_subnets.placement_group.ids : var.subnet_ids
  ami_type        = var.ami_id != "" ? null : var.ami_type
  capacity_type   = var.capacity_type
  disk_size       = var.use_custom_launch_template ? null : var.disk_size
  instance_types  = var.instance_types
  labels          = var.labels

  force_update_version           = var.force_update_version
  use_latest_ami_release_version = var.ami_id != "" ? false : var.use_latest_ami_release_version # not of the provider: looks the image up at each plan
  release_version                = var.ami_id                                                    # not so in the module: the image, to see where it is looked up

  scaling_config {
    min_size = var.min_size
    max_size = var.max_size
  }

  dynamic "launch_template" {
    for_each = var.use_custom_launch_template && var.create_launch_template ? [1] : []

    content {
      id = aws_launch_template.this[0].id
    }
  }

  dynamic "taint" {
    for_each = var.taints

    content {
      key    = taint.value.key
      value  = try(taint.value.value, null)
      effect = taint.value.effect
    }
  }

  update_config {
    max_unavailable            = lookup(var.update_config, "max_unavailable", null)
    max_unavailable_percentage = lookup(var.update_config, "max_unavailable_percentage", try(var.update_config.max_unavailable, null) == null ? try(var.default_update_config.max_unavailable_percentage, null) : null)
  }
}
