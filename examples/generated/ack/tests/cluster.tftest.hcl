# `terraform test` fails where an edit leaves a cluster that cannot hold its jobs. It asks Alibaba Cloud nothing.
mock_provider "alicloud" {
  mock_data "alicloud_account" {
    defaults = {
      id = "1234567890123456"
    }
  }
}

variables {
  account = "1234567890123456" # that of the mock
}

run "cluster" {
  command = plan

  assert {
    condition     = alicloud_cs_managed_kubernetes.this.cluster_spec != "ack.standard"
    error_message = "ACK Basic ends at 10 nodes."
  }

  assert {
    condition     = alicloud_cs_managed_kubernetes.this.is_enterprise_security_group
    error_message = "A basic security group ends at 6,000 addresses, and the kind can never be changed."
  }

  assert {
    condition     = !alicloud_cs_managed_kubernetes.this.slb_internet_enabled
    error_message = "The API server must have no public address."
  }
}

run "pools" {
  command = plan

  assert {
    condition     = sum([for pool in alicloud_cs_kubernetes_node_pool.training : one(pool.scaling_config).max_size]) >= 100
    error_message = "The maxima of the training pools are together less than 100 nodes."
  }

  assert {
    condition = anytrue([
      for zone in keys(var.zones) : 16 <= sum(concat([0], [for pool in var.training_pools : pool.nodes if !pool.spot && pool.zones[0] == zone]))
    ])
    error_message = "No zone has room for the 16 nodes of the usual job."
  }

  assert {
    condition     = alltrue([for pool in alicloud_cs_kubernetes_node_pool.training : one(pool.scaling_config).min_size == 0 && pool.instance_charge_type == "PostPaid"])
    error_message = "Training pools must begin at no nodes, paid by the second."
  }

  assert {
    condition = alltrue([
      for key, zone in var.zones : pow(2, 32 - tonumber(split("/", zone.nodes)[1])) - 4 >= sum(concat(
        [ceil(var.system_nodes / length(var.zones))],
        [for pool in var.training_pools : pool.nodes if !pool.spot && pool.zones[0] == key],
      ))
    ])
    error_message = "The vSwitch of a zone is too small for its nodes."
  }

  assert {
    condition = alltrue([
      alicloud_cs_kubernetes_addon.erdma.name == "ack-erdma-controller",
      alltrue([for pool in alicloud_cs_kubernetes_node_pool.training : lookup(pool.tags, "k8s.io/cluster-autoscaler/node-template/resource/aliyun/erdma", "") != ""]),
    ])
    error_message = "Jobs ask for aliyun/erdma: the add-on must be there, and pools must tell the autoscaler of it."
  }
}
