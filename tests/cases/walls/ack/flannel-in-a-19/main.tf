terraform {
  required_providers {
    alicloud = {
      source  = "aliyun/alicloud"
      version = "~> 1.240"
    }
  }
}

provider "alicloud" {
  region = "cn-hangzhou"
}

resource "alicloud_vpc" "ml" {
  vpc_name   = "ml"
  cidr_block = "10.0.0.0/16"
}

resource "alicloud_vswitch" "h" {
  vswitch_name = "ml-h"
  vpc_id       = alicloud_vpc.ml.id
  zone_id      = "cn-hangzhou-h"
  cidr_block   = "10.0.1.0/24"
}

resource "alicloud_cs_managed_kubernetes" "ml" {
  name            = "ml"
  cluster_spec    = "ack.pro.small"
  vswitch_ids     = [alicloud_vswitch.h.id]
  pod_cidr        = "172.20.0.0/19"
  service_cidr    = "172.21.0.0/20"
  node_cidr_mask  = 25
  new_nat_gateway = true

  addons {
    name = "flannel"
  }
}

resource "alicloud_cs_kubernetes_node_pool" "system" {
  node_pool_name = "system"
  cluster_id     = alicloud_cs_managed_kubernetes.ml.id
  vswitch_ids    = [alicloud_vswitch.h.id]
  instance_types = ["ecs.g7.xlarge"]
  desired_size   = 3
}

resource "alicloud_cs_kubernetes_node_pool" "a100" {
  node_pool_name = "a100"
  cluster_id     = alicloud_cs_managed_kubernetes.ml.id
  vswitch_ids    = [alicloud_vswitch.h.id]
  instance_types = ["ecs.gn7e-c16g1.4xlarge"]

  scaling_config {
    min_size = 0
    max_size = 80
  }

  labels {
    key   = "pool"
    value = "a100"
  }
}
