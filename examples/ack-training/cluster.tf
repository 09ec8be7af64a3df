resource "alicloud_cs_managed_kubernetes" "train" {
  name                         = "train"
  cluster_spec                 = "ack.pro.small"
  version                      = "1.36.1-aliyun.1"
  vswitch_ids                  = values(alicloud_vswitch.nodes)[*].id
  pod_cidr                     = "172.20.0.0/16"
  service_cidr                 = "192.168.0.0/16"
  new_nat_gateway              = true
  is_enterprise_security_group = true

  addons {
    name = "flannel"
  }
}

resource "alicloud_cs_kubernetes_node_pool" "system" {
  node_pool_name = "system"
  cluster_id     = alicloud_cs_managed_kubernetes.train.id
  vswitch_ids    = values(alicloud_vswitch.nodes)[*].id
  instance_types = ["ecs.g7.2xlarge"]
  desired_size   = "3"
}

resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  node_pool_name       = "gpu"
  cluster_id           = alicloud_cs_managed_kubernetes.train.id
  vswitch_ids          = values(alicloud_vswitch.nodes)[*].id
  instance_types       = ["ecs.gn7i-c32g1.8xlarge", "ecs.gn7i-c16g1.4xlarge"]
  instance_charge_type = "PrePaid"
  system_disk_category = "cloud_essd"
  system_disk_size     = 120

  scaling_config {
    min_size = 1
    max_size = var.gpu_max_nodes
  }
}

resource "alicloud_cs_autoscaling_config" "train" {
  cluster_id = alicloud_cs_managed_kubernetes.train.id
}
