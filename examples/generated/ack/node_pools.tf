# For the cluster's own pods. It is not scaled: ACK keeps these pods off nodes that an autoscaler may remove.
resource "alicloud_cs_kubernetes_node_pool" "system" {
  node_pool_name = "system"
  cluster_id     = alicloud_cs_managed_kubernetes.this.id
  vswitch_ids    = values(alicloud_vswitch.nodes)[*].id

  # Kernel 6.6 and cgroup v2: since 1.35 the kubelet wants the latter, and nftables wants 5.13, which Alibaba Cloud Linux 3 has not.
  image_type = "AliyunLinux4ContainerOptimized"

  instance_types       = ["ecs.g8i.2xlarge"] # 8 vCPUs and 32 GB: queues and DNS of a large cluster want whole ones
  instance_charge_type = "PostPaid"
  desired_size         = var.system_nodes
  multi_az_policy      = "BALANCE"

  system_disk_category          = "cloud_essd"
  system_disk_performance_level = "PL1"
  system_disk_size              = 200

  management {
    enable          = true
    auto_repair     = true
    auto_upgrade    = false # with the cluster, when somebody looks
    auto_vul_fix    = false
    max_unavailable = 1
  }
}

resource "alicloud_cs_kubernetes_node_pool" "training" {
  for_each = var.training_pools

  node_pool_name = each.key
  cluster_id     = alicloud_cs_managed_kubernetes.this.id
  vswitch_ids    = [for zone in each.value.zones : alicloud_vswitch.nodes[zone].id]

  image_type           = "AliyunLinux4ContainerOptimized"
  instance_types       = each.value.spot ? var.training_machines : [var.training_machines[0]]
  instance_charge_type = "PostPaid" # a machine that is paid by the month is paid on after the autoscaler took it out

  # An empty pool costs nothing.
  scaling_config {
    min_size = 0
    max_size = each.value.nodes
  }

  spot_strategy   = "NoSpot"
  multi_az_policy = "PRIORITY"

  system_disk_category          = "cloud_essd"
  system_disk_performance_level = "PL1" # unpacking waits for the disk: PL0 ends at a fifth of these 50,000 operations a second
  system_disk_size              = 200   # a training image has 20 GB and is unpacked; 40, the default, are soon full

  kubelet_configuration {
    serialize_image_pulls = "false" # the pods of the node itself do not wait behind the training image
  }

  containerd_config {
    max_concurrent_downloads = 10                 # layers at a time: one connection does not fill the network of such a machine
    limit_mem_lock           = "9007199254740991" # no limit for memory that eRDMA reads and writes by itself; this is the most that can be written
  }

  management {
    enable       = true
    auto_repair  = true
    auto_upgrade = false # never under a job
    auto_vul_fix = false

    max_unavailable = max(1, floor(each.value.nodes * var.upgrade_percent / 100))

    auto_repair_policy {
      restart_node = false # a person decides about a node with a job on it
    }
  }

  labels {
    key   = "training/pool"
    value = "training"
  }

  labels {
    key   = "training/market"
    value = each.value.spot ? "spot" : "on-demand"
  }

  taints {
    key    = "nvidia.com/gpu"
    value  = "true"
    effect = "NoSchedule"
  }

  # Tells the cluster-autoscaler of a pool without nodes what they will have.
  tags = {
    "k8s.io/cluster-autoscaler/node-template/resource/aliyun/erdma" = "1"
  }

  depends_on = [alicloud_cs_autoscaling_config.this, alicloud_cs_kubernetes_addon.erdma]
}
