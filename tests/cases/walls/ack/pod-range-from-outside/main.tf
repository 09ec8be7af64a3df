provider "alicloud" {
  region = "cn-shenzhen"
}

resource "alicloud_vpc" "ads" {
  vpc_name   = "ads"
  cidr_block = "10.70.0.0/16"
}

resource "alicloud_vswitch" "ads" {
  vpc_id     = alicloud_vpc.ads.id
  zone_id    = "cn-shenzhen-e"
  cidr_block = "10.70.4.0/24"
}

resource "alicloud_cs_managed_kubernetes" "ads" {
  name           = "ads"
  cluster_spec   = "ack.pro.small"
  vswitch_ids    = [alicloud_vswitch.ads.id]
  pod_cidr       = var.pod_cidr
  service_cidr   = var.service_cidr
  node_cidr_mask = 25
}

resource "alicloud_cs_kubernetes_node_pool" "this" {
  for_each       = var.pools
  node_pool_name = each.key
  cluster_id     = alicloud_cs_managed_kubernetes.ads.id
  vswitch_ids    = [alicloud_vswitch.ads.id]
  instance_types = each.value.types

  scaling_config {
    enable   = true
    min_size = each.value.min
    max_size = each.value.max
  }
}
