# aws-ia/eks-data-addons/aws: the pools of Karpenter that it makes of values, and the charts that it installs.
variable "enable_karpenter_resources" {
  type    = bool
  default = false
}

variable "karpenter_resources_helm_config" {
  type    = any
  default = {}
}

# v1beta1 in versions before 1.34.
variable "api" {
  type    = string
  default = "v1"
}

variable "enable_nvidia_device_plugin" {
  type    = bool
  default = false
}

variable "nvidia_device_plugin_helm_config" {
  type    = any
  default = {}
}

variable "enable_nvidia_gpu_operator" {
  type    = bool
  default = false
}

variable "nvidia_gpu_operator_helm_config" {
  type    = any
  default = {}
}

variable "enable_aws_neuron_device_plugin" {
  type    = bool
  default = false
}

variable "aws_neuron_device_plugin_helm_config" {
  type    = any
  default = {}
}

variable "enable_aws_efa_k8s_device_plugin" {
  type    = bool
  default = false
}

variable "aws_efa_k8s_device_plugin_helm_config" {
  type    = any
  default = {}
}

variable "enable_kuberay_operator" {
  type    = bool
  default = false
}

variable "kuberay_operator_helm_config" {
  type    = any
  default = {}
}

variable "enable_volcano" {
  type    = bool
  default = false
}

variable "volcano_helm_config" {
  type    = any
  default = {}
}

variable "enable_yunikorn" {
  type    = bool
  default = false
}

variable "yunikorn_helm_config" {
  type    = any
  default = {}
}

locals {
  pools = { for name, one in var.enable_karpenter_resources ? var.karpenter_resources_helm_config : {} : name => merge({ name = "default" }, yamldecode(one.values[0])) }
  charts = {
    nvidia-device-plugin      = var.enable_nvidia_device_plugin ? [var.nvidia_device_plugin_helm_config] : []
    gpu-operator              = var.enable_nvidia_gpu_operator ? [var.nvidia_gpu_operator_helm_config] : []
    neuron-helm-chart         = var.enable_aws_neuron_device_plugin ? [var.aws_neuron_device_plugin_helm_config] : []
    aws-efa-k8s-device-plugin = var.enable_aws_efa_k8s_device_plugin ? [var.aws_efa_k8s_device_plugin_helm_config] : []
    kuberay-operator          = var.enable_kuberay_operator ? [var.kuberay_operator_helm_config] : []
    volcano                   = var.enable_volcano ? [var.volcano_helm_config] : []
    yunikorn                  = var.enable_yunikorn ? [var.yunikorn_helm_config] : []
  }
}

resource "helm_release" "this" {
  for_each = { for name, config in local.charts : name => config[0] if length(config) > 0 }

  chart   = try(each.value.chart, each.key)
  version = try(each.value.version, null)
  values  = try(each.value.values, [])
  set     = try(each.value.set, [])
}

# What the chart karpenter-resources of the module makes of its values, with its defaults.
resource "kubernetes_manifest" "node_class" {
  for_each = local.pools

  manifest = {
    apiVersion = "karpenter.k8s.aws/${var.api}"
    kind       = "EC2NodeClass"
    metadata   = { name = each.value.name }
    spec = {
      amiFamily           = try(each.value.ec2NodeClass.amiFamily, null)
      amiSelectorTerms    = try(each.value.ec2NodeClass.amiSelectorTerms, [{ alias = "bottlerocket@latest" }])
      subnetSelectorTerms = try(each.value.ec2NodeClass.subnetSelectorTerms.tags, null) != null ? [{ tags = each.value.ec2NodeClass.subnetSelectorTerms.tags }] : [{ id = try(each.value.ec2NodeClass.subnetSelectorTerms.id, null) }]
      blockDeviceMappings = try(each.value.ec2NodeClass.blockDeviceMappings, [{ deviceName = "/dev/xvda", ebs = { volumeSize = "100Gi", volumeType = "gp3" } }])
      instanceStorePolicy = try(each.value.ec2NodeClass.instanceStorePolicy, null)
      userData            = try(each.value.ec2NodeClass.userData, null)
    }
  }
}

resource "kubernetes_manifest" "node_pool" {
  for_each = local.pools

  manifest = {
    apiVersion = "karpenter.sh/${var.api}"
    kind       = "NodePool"
    metadata   = { name = each.value.name }
    spec = {
      template = {
        metadata = { labels = merge({ NodePool = each.value.name, NodeGroupType = each.value.name }, try(each.value.nodePool.labels, [])...) }
        spec = {
          nodeClassRef           = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = each.value.name }
          taints                 = try(each.value.nodePool.taints, [])
          requirements           = try(each.value.nodePool.requirements, [])
          expireAfter            = try(each.value.nodePool.expireAfter, "720h")
          terminationGracePeriod = try(each.value.nodePool.terminationGracePeriod, "48h")
        }
      }
      disruption = {
        consolidationPolicy = try(each.value.nodePool.disruption.consolidationPolicy, "WhenEmpty")
        consolidateAfter    = try(each.value.nodePool.disruption.consolidateAfter, "30s")
        budgets             = try(each.value.nodePool.disruption.budgets, [{ nodes = "10%" }])
      }
      limits = {
        cpu    = try(each.value.nodePool.limits.cpu, 1000)
        memory = try(each.value.nodePool.limits.memory, "1000Gi")
      }
      weight = try(each.value.nodePool.weight, 10)
    }
  }
}
