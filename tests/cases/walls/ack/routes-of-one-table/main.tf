provider "alicloud" {
  region = "cn-beijing"
}

locals {
  zones = { h = 0, k = 1 }
  pools = toset(["train-a", "train-b", "train-c"])
}

resource "alicloud_vpc" "search" {
  vpc_name   = "search"
  cidr_block = "10.0.0.0/8"
}

resource "alicloud_vswitch" "nodes" {
  for_each     = local.zones
  vswitch_name = "nodes-${each.key}"
  vpc_id       = alicloud_vpc.search.id
  zone_id      = "cn-beijing-${each.key}"
  cidr_block   = cidrsubnet("10.8.0.0/16", 7, each.value)
}

resource "alicloud_cs_managed_kubernetes" "search" {
  name           = "search"
  cluster_spec   = "ack.pro.small"
  vswitch_ids    = [for v in alicloud_vswitch.nodes : v.id]
  pod_cidr       = "172.16.0.0/16"
  service_cidr   = "192.168.0.0/20"
  node_cidr_mask = 26
}

resource "alicloud_cs_kubernetes_node_pool" "system" {
  node_pool_name = "system"
  cluster_id     = alicloud_cs_managed_kubernetes.search.id
  vswitch_ids    = [alicloud_vswitch.nodes["h"].id]
  instance_types = ["ecs.g7.2xlarge"]
  desired_size   = 3
}

resource "alicloud_cs_kubernetes_node_pool" "train" {
  for_each       = local.pools
  node_pool_name = each.value
  cluster_id     = alicloud_cs_managed_kubernetes.search.id
  vswitch_ids    = [for v in alicloud_vswitch.nodes : v.id]
  instance_types = ["ecs.gn7i-c16g1.4xlarge"]

  scaling_config {
    min_size = 0
    max_size = 100
    type     = "gpu"
  }

  labels {
    key   = "job"
    value = "ranking"
  }
}
