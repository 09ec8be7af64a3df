# cloudposse/eks-node-group/aws, what its versions share: one managed group; its name is put together from namespace, stage and more.
variable "enabled" {
  type    = bool
  default = null
}

variable "context" {
  type    = any
  default = {}
}

variable "cluster_name" {
  type = string
}

variable "subnet_ids" {
  type = list(string)
}

variable "min_size" {
  type = number
}

variable "max_size" {
  type = number
}

variable "desired_size" {
  type = number
}

variable "ami_type" {
  type    = string
  default = "AL2_x86_64"
}

variable "ami_image_id" {
  type    = list(string)
  default = []
}

variable "instance_types" {
  type    = list(string)
  default = ["t3.medium"]
}

variable "capacity_type" {
  type    = string
  default = null
}

variable "kubernetes_labels" {
  type    = map(string)
  default = {}
}

variable "kubernetes_taints" {
  type    = list(object({ key = string, value = optional(string), effect = string }))
  default = []
}

variable "force_update_version" {
  type    = bool
  default = false
}

variable "update_config" {
  type    = list(map(number))
  default = []
}

variable "launch_template_id" {
  type    = list(string)
  default = []
}

variable "block_device_map" {
  type = map(object({
    ebs = optional(object({
      volume_size = optional(number, 20)
      volume_type = optional(string, "gp3")
    }))
  }))
  default = null
}

variable "block_device_mappings" {
  type    = list(any)
  default = null
}

# gp3 from 2.11 on
variable "volume_type" {
  type    = string
  default = "gp3"
}

variable "before_cluster_joining_userdata" {
  type    = any
  default = []
}

variable "after_cluster_joining_userdata" {
  type    = any
  default = []
}

variable "bootstrap_additional_options" {
  type    = any
  default = []
}

variable "kubelet_additional_options" {
  type    = any
  default = []
}

variable "userdata_override_base64" {
  type    = any
  default = []
}

variable "placement" {
  type    = list(any)
  default = []
}

data "null_data_source" "label" {}

# the module looks for an image where more than the start of EKS is to be run
data "aws_ami" "selected" {}

locals {
  enabled   = coalesce(var.enabled, try(var.context.enabled, null), true)
  listed    = var.block_device_mappings == null ? { "/dev/xvda" = { ebs = { volume_size = 20, volume_type = var.volume_type } } } : { for d in var.block_device_mappings : try(d.device_name, "/dev/xvda") => { ebs = { volume_size = try(d.volume_size, d.ebs.volume_size, 20), volume_type = try(d.volume_type, d.ebs.volume_type, var.volume_type) } } }
  disks     = var.block_device_map == null ? local.listed : var.block_device_map
  bootstrap = flatten([var.after_cluster_joining_userdata, var.bootstrap_additional_options, var.kubelet_additional_options])
  own_image = length(local.bootstrap) > 0 || length(var.userdata_override_base64) > 0
}

resource "aws_launch_template" "default" {
  count = length(var.launch_template_id) == 1 ? 0 : 1

  image_id  = try(var.ami_image_id[0], local.own_image ? data.aws_ami.selected.image_id : null)
  user_data = try(var.userdata_override_base64[0], join("\n", compact(flatten([var.before_cluster_joining_userdata, local.bootstrap]))))

  dynamic "block_device_mappings" {
    for_each = local.disks

    content {
      device_name = block_device_mappings.key

      ebs {
        volume_size = try(block_device_mappings.value.ebs.volume_size, null)
        volume_type = try(block_device_mappings.value.ebs.volume_type, null)
      }
    }
  }

  dynamic "placement" {
    for_each = var.placement

    content {
      group_name = try(placement.value.group_name, null)
    }
  }
}

resource "aws_eks_node_group" "default" {
  count = local.enabled ? 1 : 0

  cluster_name    = var.cluster_name
  node_group_name = data.null_data_source.label.id
  subnet_ids      = var.subnet_ids
  ami_type        = length(var.ami_image_id) > 0 || local.own_image ? null : var.ami_type
  capacity_type   = var.capacity_type
  instance_types  = var.instance_types
  labels          = var.kubernetes_labels

  force_update_version = var.force_update_version

  scaling_config {
    min_size     = var.min_size
    max_size     = var.max_size
    desired_size = var.desired_size
  }

  launch_template {
    id = try(var.launch_template_id[0], aws_launch_template.default[0].id)
  }

  dynamic "update_config" {
    for_each = var.update_config

    content {
      max_unavailable            = lookup(update_config.value, "max_unavailable", null)
      max_unavailable_percentage = lookup(update_config.value, "max_unavailable_percentage", null)
    }
  }

  dynamic "taint" {
    for_each = var.kubernetes_taints

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

output "eks_node_group_cluster_name" {
  value = var.cluster_name
}
