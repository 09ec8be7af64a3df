resource "alicloud_cs_managed_kubernetes" "this" {
  name    = var.name
  version = var.kubernetes_version

  # Pro: ACK Basic, which comes where nothing is written, ends at 10 nodes.
  cluster_spec = "ack.pro.small"

  vswitch_ids     = values(alicloud_vswitch.nodes)[*].id
  pod_vswitch_ids = values(alicloud_vswitch.pods)[*].id
  service_cidr    = var.service_cidr
  proxy_mode      = "nftables" # ipvs, the default, is deprecated since 1.35, and the mode is for ever

  # A basic group ends at 6,000 addresses, those of pods included; the kind can never be changed.
  is_enterprise_security_group = true

  new_nat_gateway      = false # the one in network.tf
  slb_internet_enabled = false # the API server has no public address: a machine in the VPC, or a VPN to it

  deletion_protection            = true
  skip_set_certificate_authority = true # else the keys of the administrator are in the state

  # IPVlan: eBPF instead of kube-proxy between pods: DataPath V2 since Terway 1.8, whatever the name.
  # NetworkPolicy: from 100 nodes on, the agents of network policies are a load on the API server.
  # ENITrunking: only for pods with fixed addresses or security groups of their own.
  addons {
    name = "terway-eniip"
    config = jsonencode({
      IPVlan        = "true"
      NetworkPolicy = "false"
      ENITrunking   = "false"
    })
  }

  # Names are answered on the node: all workers of a job ask at once. It serves namespaces that have the label
  # node-local-dns-injection = enabled.
  addons {
    name = "ack-node-local-dns"
  }

  addons {
    name = "csi-plugin"
  }

  addons {
    name = "managed-csiprovisioner"
  }

  # alibabacloud-cnfs-nas: a NAS file system that all pods can write to, made with the cluster.
  addons {
    name = "storage-operator"
    config = jsonencode({
      CnfsNasEnable = "true"
      CnfsOssEnable = "false"
    })
  }

  # Tells auto repair which nodes are broken.
  addons {
    name = "ack-node-problem-detector"
  }

  # Training needs no ingress, and this one pays for a load balancer.
  addons {
    name     = "nginx-ingress-controller"
    disabled = true
  }

  tags = {
    cluster = var.name
  }

  depends_on = [alicloud_snat_entry.nodes, alicloud_snat_entry.pods] # nodes join through the gateway
}

# It attaches an interface to each network card of every node that can have it, and tells them to Kubernetes as aliyun/erdma.
resource "alicloud_cs_kubernetes_addon" "erdma" {
  cluster_id = alicloud_cs_managed_kubernetes.this.id
  name       = "ack-erdma-controller"

  config = jsonencode({
    agent = {
      preferDriver       = "ofed" # the one for NCCL on GPUs
      allocateAllDevices = true   # a pod of the node has the cards of all its GPUs
    }
  })

  depends_on = [alicloud_cs_kubernetes_node_pool.system] # where its controller runs
}

# Within what it is rated for.
resource "alicloud_cs_autoscaling_config" "this" {
  cluster_id  = alicloud_cs_managed_kubernetes.this.id
  scaler_type = "cluster-autoscaler" # up to 20 pools of 100 nodes

  # The two names are the other way round than those of Kubernetes' own autoscaler.
  cool_down_duration = "5m"  # a node is idle for so long before it goes; a job that comes sooner finds it
  unneeded_duration  = "10m" # nothing goes for so long after nodes came: their pods are still starting

  scan_interval             = "30s"         # half a minute is little beside the minutes that a node takes to come
  expander                  = "least-waste" # the pool that the pods fill best; goatscaler has no other
  utilization_threshold     = "0.1"         # the least there is: nodes with next to nothing on them go, never one with a job
  gpu_utilization_threshold = "0.1"         # the same for nodes with GPUs, by the GPUs that pods ask for

  scale_down_enabled            = true
  scale_up_from_zero            = true  # training pools are empty between jobs
  skip_nodes_with_local_storage = false # scratch data of a job that has ended keeps no node alive
  skip_nodes_with_system_pods   = true  # there are none on training nodes: their taint keeps them off
  daemonset_eviction_for_nodes  = false # they go with the node
  recycle_node_deletion_enabled = false # nodes are released, not stopped
  min_replica_count             = 0     # by its number of replicas no pod keeps a node
  max_graceful_termination_sec  = 14400 # the default: a pod may write its last checkpoint for as long as it asks

  depends_on = [alicloud_cs_kubernetes_node_pool.system] # where the autoscaler runs
}
