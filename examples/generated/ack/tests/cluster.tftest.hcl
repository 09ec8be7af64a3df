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
    condition     = !contains(["ack.standard"], alicloud_cs_managed_kubernetes.this.cluster_spec)
    error_message = "The control plane must be made for 100 nodes: ack.pro.small."
  }

  assert {
    condition     = alltrue([for addon in alicloud_cs_managed_kubernetes.this.addons : addon.disabled != true if addon.name != "nginx-ingress-controller"])
    error_message = "An add-on that nodes and jobs need is disabled."
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

run "scaling" {
  command = plan

  assert {
    condition = alicloud_cs_autoscaling_config.this.scaler_type == "goatscaler" || alltrue([
      length(var.training_pools) <= 20,
      alltrue([for pool in var.training_pools : pool.nodes <= 100]),
    ])
    error_message = "The Cluster Autoscaler of ACK is rated for 20 pools of 100 nodes."
  }

  assert {
    condition     = alicloud_cs_autoscaling_config.this.scale_down_enabled && alicloud_cs_autoscaling_config.this.scale_up_from_zero
    error_message = "Empty pools must grow, and nodes must go after a job."
  }
}

run "network" {
  command = plan

  assert {
    condition = alltrue([
      for range in concat(values(var.zones)[*].nodes, values(var.zones)[*].pods) : alltrue([
        tonumber(split("/", range)[1]) >= tonumber(split("/", var.vpc_cidr)[1]),
        cidrhost("${split("/", range)[0]}/${split("/", var.vpc_cidr)[1]}", 0) == cidrhost(var.vpc_cidr, 0),
      ])
    ])
    error_message = "A range is not in that of the VPC."
  }

  assert {
    condition = alltrue([
      for key, zone in var.zones : pow(2, 32 - tonumber(split("/", zone.nodes)[1])) - 4 >= sum(concat(
        [ceil(var.system_nodes / length(var.zones))],
        [for pool in var.training_pools : ceil(pool.nodes / length(pool.zones)) if contains(pool.zones, key)],
      ))
    ])
    error_message = "The vSwitch of a zone is too small for its nodes."
  }

  assert {
    condition = alltrue([
      for key, zone in var.zones : pow(2, 32 - tonumber(split("/", zone.pods)[1])) - 4 >= 6 * sum(concat(
        [ceil(var.system_nodes / length(var.zones))],
        [for pool in var.training_pools : ceil(pool.nodes / length(pool.zones)) if contains(pool.zones, key)],
      ))
    ])
    error_message = "The vSwitch for the pods of a zone is too small: a node takes 6 addresses of it."
  }

  assert {
    condition = length(alicloud_snat_entry.nodes) == length(var.zones) && length(alicloud_snat_entry.pods) == length(var.zones)
    error_message = "A zone has no way out by the NAT gateway, so nodes there cannot join."
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
    condition = alltrue([
      for pool in alicloud_cs_kubernetes_node_pool.training :
      one(pool.scaling_config).min_size == 0 && one(pool.scaling_config).enable != false && pool.instance_charge_type == "PostPaid"
    ])
    error_message = "Training pools must be scaled, from no nodes, and paid by the second."
  }

  assert {
    condition     = alltrue([for machine in var.training_machines : contains(["ecs.gn8v-8x.48xlarge"], machine)])
    error_message = "Jobs, quotas and ranges are for ecs.gn8v-8x.48xlarge: change intent.yaml for other machines."
  }

  assert {
    condition     = alltrue([for pool in alicloud_cs_kubernetes_node_pool.training : contains([for taint in pool.taints : taint.key], "nvidia.com/gpu")])
    error_message = "Without their taint, training nodes fill up with other pods and are never removed."
  }

  assert {
    condition = alltrue([
      for pool in concat([alicloud_cs_kubernetes_node_pool.system], values(alicloud_cs_kubernetes_node_pool.training)) :
      contains(["AliyunLinux4ContainerOptimized", "AliyunLinux4ContainerOptimizedArm64"], pool.image_type)
    ])
    error_message = "Nodes need an image with cgroup v2 and a kernel for nftables."
  }

  assert {
    condition     = alltrue([for pool in alicloud_cs_kubernetes_node_pool.training : pool.system_disk_category == "cloud_essd" && pool.system_disk_size >= 200])
    error_message = "The disks of training nodes are too slow or too small for training images."
  }

  assert {
    condition     = var.system_nodes >= 4
    error_message = "The cluster's own pods need 4 nodes."
  }

  assert {
    condition = alltrue([
      alicloud_cs_kubernetes_addon.erdma.name == "ack-erdma-controller",
      alltrue([for pool in alicloud_cs_kubernetes_node_pool.training : lookup(pool.tags, "k8s.io/cluster-autoscaler/node-template/resource/aliyun/erdma", "") != ""]),
    ])
    error_message = "Jobs ask for aliyun/erdma: the add-on must be there, and pools must tell the autoscaler of it."
  }
}
