variable "region" {
  type    = string
  default = "cn-wulanchabu"
}

variable "vswitch_ids" {
  type        = list(string)
  description = "vSwitches of the nodes, one a zone"
}

variable "pod_vswitch_ids" {
  type        = list(string)
  description = "vSwitches of the pods, one a zone"
}

provider "alicloud" {
  region = var.region
}

resource "alicloud_cs_managed_kubernetes" "llm" {
  name                         = "llm"
  cluster_spec                 = "ack.pro.xlarge"
  vswitch_ids                  = var.vswitch_ids
  pod_vswitch_ids              = var.pod_vswitch_ids
  service_cidr                 = "172.16.0.0/16"
  is_enterprise_security_group = true
  new_nat_gateway              = false

  addons {
    name = "terway-eniip"
  }
}

resource "alicloud_cs_kubernetes_node_pool" "core" {
  node_pool_name = "core"
  cluster_id     = alicloud_cs_managed_kubernetes.llm.id
  vswitch_ids    = var.vswitch_ids
  instance_types = ["ecs.g7.2xlarge"]
  desired_size   = 2
}

resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  node_pool_name = "gpu"
  cluster_id     = alicloud_cs_managed_kubernetes.llm.id
  vswitch_ids    = var.vswitch_ids
  instance_types = ["ecs.gn7e-c16g1.16xlarge"]

  scaling_config {
    min_size = 4
    max_size = 60
  }
}
