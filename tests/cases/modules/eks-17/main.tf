# Managed groups and groups with launch configurations and templates, with the defaults that all of them share.
module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 3.0"

  name            = "train"
  cidr            = "10.0.0.0/16"
  azs             = ["eu-west-1a", "eu-west-1b"]
  private_subnets = ["10.0.0.0/20", "10.0.16.0/20"]
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 17.24"

  cluster_name    = "train"
  cluster_version = "1.21"
  subnets         = module.vpc.private_subnets

  workers_group_defaults = {
    root_volume_type = "gp2"
    asg_max_size     = 9
  }

  node_groups_defaults = { k8s_labels = { team = "ml" } }

  node_groups = {
    system = {}
    gpu = {
      instance_types   = ["p4d.24xlarge"]
      capacity_type    = "SPOT"
      min_capacity     = 0
      desired_capacity = 0
      max_capacity     = 64
      subnets          = [module.vpc.private_subnets[0]]
      k8s_labels       = { gpu = "a100" }
      taints           = [{ key = "gpu", value = "yes", effect = "NO_SCHEDULE" }]
    }
    own = {
      create_launch_template = true
      disk_size              = 200
      instance_type          = "m5.large"
    }
  }

  worker_groups = [
    { name = "spot", instance_type = "m5.xlarge", spot_price = "0.1", asg_max_size = "5" },
  ]

  worker_groups_launch_template = [
    { name = "mixed", override_instance_types = ["g5.xlarge", "g5.2xlarge"], on_demand_base_capacity = 1 },
    { name = "efa", instance_type = "p4d.24xlarge", interface_type = "efa", asg_min_size = 2, asg_max_size = 40 },
  ]
}
