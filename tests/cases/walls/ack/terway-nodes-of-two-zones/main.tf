provider "alicloud" {
  region = "ap-southeast-1"
}

variable "zones" {
  type = map(object({ nodes = string, pods = string }))
  default = {
    "ap-southeast-1a" = { nodes = "10.9.0.0/27", pods = "10.9.32.0/19" }
    "ap-southeast-1b" = { nodes = "10.9.0.32/27", pods = "10.9.64.0/19" }
  }
}

resource "alicloud_vpc" "this" {
  vpc_name   = "features"
  cidr_block = "10.9.0.0/16"
}

resource "alicloud_vswitch" "nodes" {
  for_each   = var.zones
  vpc_id     = alicloud_vpc.this.id
  zone_id    = each.key
  cidr_block = each.value.nodes
}

resource "alicloud_vswitch" "pods" {
  for_each   = var.zones
  vpc_id     = alicloud_vpc.this.id
  zone_id    = each.key
  cidr_block = each.value.pods
}

resource "alicloud_vswitch" "system" {
  vpc_id     = alicloud_vpc.this.id
  zone_id    = "ap-southeast-1a"
  cidr_block = "10.9.0.64/27"
}

resource "alicloud_cs_managed_kubernetes" "this" {
  name                         = "features"
  cluster_spec                 = "ack.pro.small"
  vswitch_ids                  = [alicloud_vswitch.system.id]
  pod_vswitch_ids              = [for v in alicloud_vswitch.pods : v.id]
  service_cidr                 = "192.168.0.0/16"
  is_enterprise_security_group = true

  addons {
    name = "terway-eniip"
  }
}

resource "alicloud_cs_kubernetes_node_pool" "system" {
  node_pool_name = "system"
  cluster_id     = alicloud_cs_managed_kubernetes.this.id
  vswitch_ids    = [alicloud_vswitch.system.id]
  instance_types = ["ecs.g7.4xlarge"]
  desired_size   = 3
}

resource "alicloud_cs_kubernetes_node_pool" "features" {
  node_pool_name  = "features"
  cluster_id      = alicloud_cs_managed_kubernetes.this.id
  vswitch_ids     = [for v in alicloud_vswitch.nodes : v.id]
  multi_az_policy = "BALANCE"
  instance_types  = ["ecs.g7.4xlarge"]

  scaling_config {
    min_size = 0
    max_size = 100
  }
}
