locals {
  zones = ["cn-beijing-i", "cn-beijing-l"]
}

resource "alicloud_vpc" "train" {
  vpc_name   = "train"
  cidr_block = "10.0.0.0/8"
}

resource "alicloud_vswitch" "nodes" {
  for_each = { for i, zone in local.zones : zone => i }

  vswitch_name = "nodes-${each.key}"
  vpc_id       = alicloud_vpc.train.id
  zone_id      = each.key
  cidr_block   = cidrsubnet("10.1.0.0/16", 8, each.value)
}
