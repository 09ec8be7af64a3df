# `terraform test` fails where an edit leaves a cluster that cannot hold its job. It plans only, and asks AWS nothing.
mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = {
      json = "{\"Version\": \"2012-10-17\", \"Statement\": []}"
    }
  }
}

mock_provider "helm" {}

mock_provider "kubernetes" {}

# What the modules give, without what they make.
override_module {
  target = module.eks

  outputs = {
    cluster_arn                        = "arn:aws:eks:us-east-2:111122223333:cluster/train"
    cluster_certificate_authority_data = "bm9uZQ=="
    cluster_endpoint                   = "https://example.eks.amazonaws.com"
    cluster_name                       = "train"
    node_security_group_id             = "sg-00000000000000000"

    eks_managed_node_groups = {
      gpu-a1    = { node_group_autoscaling_group_names = ["gpu-a1"] }
      gpu-b1    = { node_group_autoscaling_group_names = ["gpu-b1"] }
      gpu-c1    = { node_group_autoscaling_group_names = ["gpu-c1"] }
      gpu-spot1 = { node_group_autoscaling_group_names = ["gpu-spot1"] }
      gpu-spot2 = { node_group_autoscaling_group_names = ["gpu-spot2"] }
    }
  }
}

override_module {
  target = module.vpc

  outputs = {
    private_route_table_ids = ["rtb-00000000000000000"]
    private_subnets         = ["subnet-00000000000000001", "subnet-00000000000000002", "subnet-00000000000000003"]
    vpc_id                  = "vpc-00000000000000000"
  }
}

variables {
  docker_hub_user  = "nobody"
  docker_hub_token = "none"
}

run "control_plane" {
  command = plan

  assert {
    condition     = !contains(var.api_ranges, "0.0.0.0/0")
    error_message = "The API server answers the whole internet."
  }

  assert {
    condition     = var.system_nodes >= 3
    error_message = "The cluster's own pods need 3 nodes at least."
  }
}

run "network" {
  command = plan

  assert {
    condition = alltrue([for zone in var.zones : anytrue([
      for block in var.vpc_cidrs : cidrsubnet("${cidrhost(zone.private, 0)}/${split("/", block)[1]}", 0, 0) == cidrsubnet(block, 0, 0)
    ])])
    error_message = "A private subnet is outside of the VPC."
  }

  assert {
    condition = alltrue([for key, zone in var.zones :
      pow(2, 32 - tonumber(split("/", zone.private)[1])) - 5 >= 9 * sum(concat([0], [
        for pool in var.training_pools : pool.nodes / length(pool.zones) if contains(pool.zones, key)
      ]))
    ])
    error_message = "A private subnet has fewer addresses than its nodes take: 8 for pods and one of its own each."
  }
}

run "pools" {
  command = plan

  assert {
    condition     = sum([for pool in var.training_pools : pool.nodes]) >= 1000
    error_message = "The pools hold fewer than 1,000 training nodes."
  }

  assert {
    condition = anytrue([for key, zone in var.zones :
      sum(concat([0], [for pool in var.training_pools : pool.nodes if !pool.spot && contains(pool.zones, key)])) >= 128
    ])
    error_message = "A job of 128 nodes fits the on-demand pools of no zone."
  }

  assert {
    condition     = alltrue([for pool in var.training_pools : length(setsubtract(pool.zones, keys(var.zones))) == 0])
    error_message = "A pool is in a zone that has no subnet."
  }

  assert {
    condition     = yamldecode(helm_release.cluster_autoscaler.values[0]).extraArgs["max-nodes-total"] >= sum([for pool in var.training_pools : pool.nodes]) + var.system_nodes
    error_message = "The autoscaler stops below the sum of the pools: max-nodes-total in values/cluster-autoscaler.yaml."
  }

  assert {
    condition     = yamldecode(helm_release.cluster_autoscaler.values[0]).autoDiscovery.clusterName == var.name
    error_message = "The autoscaler looks for the pools of another cluster: autoDiscovery in values/cluster-autoscaler.yaml."
  }

  assert {
    condition     = length(local.efa_interfaces) == 33
    error_message = "A p5.48xlarge has 32 EFA interfaces, and one for addresses."
  }
}

run "checkpoints" {
  command = plan

  assert {
    condition     = aws_fsx_lustre_file_system.checkpoints.storage_capacity * 1000 / 1024 >= 60160
    error_message = "The file system is slower than the 60,160 MB/s of a job of 128 nodes."
  }

  assert {
    condition     = strcontains(file("kubernetes/checkpoints.yaml"), "${var.account}.dkr.ecr.${var.region}.amazonaws.com/${var.name}-hub/")
    error_message = "kubernetes/checkpoints.yaml pulls through another cache than registry.tf makes."
  }
}
