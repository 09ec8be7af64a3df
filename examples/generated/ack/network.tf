resource "alicloud_vpc" "this" {
  vpc_name   = var.name
  cidr_block = var.vpc_cidr

  lifecycle {
    precondition {
      condition     = data.alicloud_account.current.id == var.account
      error_message = "The credentials are those of another account."
    }
  }
}

resource "alicloud_vswitch" "nodes" {
  for_each = var.zones

  vswitch_name = "${var.name}-nodes-${each.key}"
  vpc_id       = alicloud_vpc.this.id
  zone_id      = each.value.zone
  cidr_block   = each.value.nodes
}

# Pods have vSwitches of their own: one of a zone that is full can be joined by another, and nodes are not in the way.
resource "alicloud_vswitch" "pods" {
  for_each = var.zones

  vswitch_name = "${var.name}-pods-${each.key}"
  vpc_id       = alicloud_vpc.this.id
  zone_id      = each.value.zone
  cidr_block   = each.value.pods
}

# One gateway stands in several zones by itself; a second one would need route tables of its own.
resource "alicloud_nat_gateway" "this" {
  nat_gateway_name  = var.name
  vpc_id            = alicloud_vpc.this.id
  vswitch_id        = alicloud_vswitch.nodes[sort(keys(var.zones))[0]].id
  nat_type          = "Enhanced"
  payment_type      = "PayAsYouGo"
  availability_mode = "CrossAZ"
}

# An address for each zone: all connections to one destination share the ports of an address.
resource "alicloud_eip_address" "nat" {
  for_each = var.zones

  address_name         = "${var.name}-nat-${each.key}"
  payment_type         = "PayAsYouGo"
  internet_charge_type = "PayByTraffic"
  bandwidth            = "200" # Mbit/s: the most that an address paid by traffic may have
}

resource "alicloud_eip_association" "nat" {
  for_each = var.zones

  allocation_id = alicloud_eip_address.nat[each.key].id
  instance_id   = alicloud_nat_gateway.this.id
  instance_type = "Nat"
}

resource "alicloud_snat_entry" "nodes" {
  for_each = var.zones

  snat_table_id     = alicloud_nat_gateway.this.snat_table_ids
  source_vswitch_id = alicloud_vswitch.nodes[each.key].id
  snat_ip           = alicloud_eip_address.nat[each.key].ip_address

  depends_on = [alicloud_eip_association.nat]
}

resource "alicloud_snat_entry" "pods" {
  for_each = var.zones

  snat_table_id     = alicloud_nat_gateway.this.snat_table_ids
  source_vswitch_id = alicloud_vswitch.pods[each.key].id
  snat_ip           = alicloud_eip_address.nat[each.key].ip_address

  depends_on = [alicloud_eip_association.nat]
}
