locals {
  # EFA as AWS recommends it: one interface for addresses, and on each card one that is for EFA only and takes no address.
  efa_interfaces = concat(
    [{ network_card_index = 0, device_index = 0, interface_type = "interface", delete_on_termination = true }],
    [for card in range(0, 32) : {
      network_card_index    = card
      device_index          = card == 0 ? 1 : 0
      interface_type        = "efa-only"
      delete_on_termination = true
    }],
  )

  node_disk = {
    system = {
      device_name = "/dev/xvda"

      ebs = {
        volume_type = "gp3"
        volume_size = 200 # room for images of 20 GB and more; the 20 GiB of the default hold none
        throughput  = 500 # four times the default: a node unpacks its image before it works
        encrypted   = true
      }
    }
  }

  # For the cluster's own pods, so that they keep no training node alive.
  system_pools = {
    system = {
      ami_type       = "AL2023_x86_64_STANDARD"
      instance_types = ["m7i.2xlarge"] # 8 vCPUs: the autoscaler alone wants a whole one at 1,000 nodes
      min_size       = 3
      max_size       = var.system_nodes
      desired_size   = 3

      block_device_mappings = local.node_disk # launchers of MPIJobs run here, with the training image

      iam_role_additional_policies = {
        docker_hub = aws_iam_policy.docker_hub.arn
        sessions   = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore" # a way in without SSH, and on to the API server
      }
    }
  }

  training_pools = {
    for name, pool in var.training_pools : name => {
      ami_type       = "AL2023_x86_64_NVIDIA"
      instance_types = pool.spot ? var.training_machines : [var.training_machines[0]]
      capacity_type  = pool.capacity_block ? "CAPACITY_BLOCK" : pool.spot ? "SPOT" : "ON_DEMAND"
      subnet_ids     = [for zone in pool.zones : module.vpc.private_subnets[index(sort(keys(var.zones)), zone)]]

      # An empty pool costs nothing; the autoscaler sets the size from then on.
      min_size     = 0
      max_size     = pool.nodes
      desired_size = 0

      # The image of the day that the pool is made: terraform apply replaces no node of a running job.
      use_latest_ami_release_version = false

      capacity_reservation_specification = pool.reservation == null ? null : {
        capacity_reservation_target = {
          capacity_reservation_id = pool.reservation
        }
      }

      instance_market_options = pool.capacity_block ? { market_type = "capacity-block" } : null

      update_config = {
        # A third of a pool at a time; one node at a time takes days, and training pools are mostly empty.
        max_unavailable_percentage = 33
      }

      # Close to each other. Not for spot, which is spread over zones, nor for reservations, which have places of their own.
      create_placement_group = !pool.spot && pool.reservation == null
      network_interfaces     = [for one in local.efa_interfaces : one if !pool.spot]

      # The local disks as one, for images and scratch data: the system disk of a node is too slow for both.
      cloudinit_pre_nodeadm = [{
        content_type = "application/node.eks.aws"
        content      = <<-EOT
          ---
          apiVersion: node.eks.aws/v1alpha1
          kind: NodeConfig
          spec:
            instance:
              localStorage:
                strategy: RAID0
        EOT
      }]

      iam_role_additional_policies = {
        docker_hub = aws_iam_policy.docker_hub.arn
      }

      labels = {
        "training/pool"   = "training"
        "training/market" = pool.spot ? "spot" : "on-demand"

        # Tells the autoscaler that GPUs of a new node are still to come; without it, it starts another one for the pod that waits for them.
        "k8s.amazonaws.com/accelerator" = "nvidia"
      }

      taints = {
        training = {
          key    = "nvidia.com/gpu"
          value  = "true"
          effect = "NO_SCHEDULE"
        }
      }
    }
  }
}
