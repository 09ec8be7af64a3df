provider "alicloud" {
  region = "ap-southeast-1"
}

resource "alicloud_vpc" "gen" {
  vpc_name   = "gen"
  cidr_block = "10.0.0.0/12"
}

resource "alicloud_vswitch" "gen" {
  vpc_id     = alicloud_vpc.gen.id
  zone_id    = "ap-southeast-1c"
  cidr_block = "10.1.0.0/23"
}

resource "alicloud_nat_gateway" "gen" {
  vpc_id           = alicloud_vpc.gen.id
  vswitch_id       = alicloud_vswitch.gen.id
  nat_gateway_name = "gen"
  nat_type         = "Enhanced"
  payment_type     = "PayAsYouGo"
}

resource "alicloud_eip_address" "gen" {
  address_name = "gen"
  bandwidth    = "200"
}

resource "alicloud_eip_association" "gen" {
  allocation_id = alicloud_eip_address.gen.id
  instance_id   = alicloud_nat_gateway.gen.id
  instance_type = "Nat"
}

resource "alicloud_snat_entry" "gen" {
  snat_table_id     = alicloud_nat_gateway.gen.snat_table_ids
  source_vswitch_id = alicloud_vswitch.gen.id
  snat_ip           = alicloud_eip_address.gen.ip_address
}

resource "alicloud_cs_managed_kubernetes" "gen" {
  name            = "gen"
  cluster_spec    = "ack.pro.small"
  vswitch_ids     = [alicloud_vswitch.gen.id]
  pod_cidr        = "172.24.0.0/16"
  service_cidr    = "172.25.0.0/20"
  node_cidr_mask  = 25
  new_nat_gateway = false
}

resource "alicloud_cs_kubernetes_node_pool" "system" {
  node_pool_name = "system"
  cluster_id     = alicloud_cs_managed_kubernetes.gen.id
  vswitch_ids    = [alicloud_vswitch.gen.id]
  instance_types = ["ecs.g7.xlarge"]
  desired_size   = 3
}

resource "alicloud_cs_kubernetes_node_pool" "a10" {
  node_pool_name = "a10"
  cluster_id     = alicloud_cs_managed_kubernetes.gen.id
  vswitch_ids    = [alicloud_vswitch.gen.id]
  instance_types = ["ecs.gn7i-c16g1.4xlarge"]

  scaling_config {
    min_size = 0
    max_size = 150
  }
}
