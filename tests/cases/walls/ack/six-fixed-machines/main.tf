provider "alicloud" {
  region = "cn-hangzhou"
}

resource "alicloud_vpc" "moe" {
  vpc_name   = "moe"
  cidr_block = "10.50.0.0/16"
}

resource "alicloud_vswitch" "moe" {
  vpc_id     = alicloud_vpc.moe.id
  zone_id    = "cn-hangzhou-b"
  cidr_block = "10.50.1.0/25"
}

resource "alicloud_cs_managed_kubernetes" "moe" {
  name           = "moe"
  cluster_spec   = "ack.pro.small"
  vswitch_ids    = [alicloud_vswitch.moe.id]
  pod_cidr       = "172.30.0.0/18"
  service_cidr   = "172.31.0.0/20"
  node_cidr_mask = 26
}

resource "alicloud_cs_kubernetes_node_pool" "system" {
  node_pool_name = "system"
  cluster_id     = alicloud_cs_managed_kubernetes.moe.id
  vswitch_ids    = [alicloud_vswitch.moe.id]
  instance_types = ["ecs.g7.2xlarge"]
  desired_size   = 3
}

resource "alicloud_cs_kubernetes_node_pool" "v100" {
  node_pool_name = "v100"
  cluster_id     = alicloud_cs_managed_kubernetes.moe.id
  vswitch_ids    = [alicloud_vswitch.moe.id]
  instance_types = ["ecs.gn6v-c8g1.16xlarge"]
  desired_size   = 6

  taints {
    key    = "gpu"
    value  = "true"
    effect = "NoSchedule"
  }
}
