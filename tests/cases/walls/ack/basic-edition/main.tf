provider "alicloud" {
  region = "cn-shanghai"
}

resource "alicloud_vpc" "demo" {
  vpc_name   = "demo"
  cidr_block = "192.168.0.0/16"
}

resource "alicloud_vswitch" "demo" {
  vpc_id     = alicloud_vpc.demo.id
  zone_id    = "cn-shanghai-l"
  cidr_block = "192.168.10.0/24"
}

resource "alicloud_cs_managed_kubernetes" "demo" {
  name               = "demo"
  cluster_spec       = "ack.standard"
  worker_vswitch_ids = [alicloud_vswitch.demo.id]
  pod_cidr           = "172.22.0.0/20"
  service_cidr       = "172.23.0.0/20"
}

resource "alicloud_cs_kubernetes_node_pool" "base" {
  name           = "base"
  cluster_id     = alicloud_cs_managed_kubernetes.demo.id
  vswitch_ids    = [alicloud_vswitch.demo.id]
  instance_types = ["ecs.g6.xlarge"]
  node_count     = 2
}

resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  name           = "gpu"
  cluster_id     = alicloud_cs_managed_kubernetes.demo.id
  vswitch_ids    = [alicloud_vswitch.demo.id]
  instance_types = ["ecs.gn6i-c8g1.2xlarge"]

  scaling_config {
    min_size = 0
    max_size = 20
    type     = "gpu"
  }
}
