# Groups with defaults for all, prefix delegation, a self-managed group, subnets picked out of two lists.
locals {
  azs = slice(data.aws_availability_zones.here.names, 0, 2)
  # the subnets in the secondary range, found by their text
  pods = compact([
    for id, cidr in zipmap(module.vpc.private_subnets, module.vpc.private_subnets_cidr_blocks) :
    substr(cidr, 0, 4) == "100." ? id : null
  ])
}

data "aws_availability_zones" "here" {}

module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 5.0"

  name                  = "train"
  cidr                  = "10.0.0.0/16"
  secondary_cidr_blocks = ["100.64.0.0/16"]
  azs                   = local.azs
  private_subnets       = concat([for k, v in local.azs : cidrsubnet("10.0.0.0/16", 8, k)], ["100.64.0.0/17", "100.64.128.0/17"])
  public_subnets        = [for k, v in local.azs : cidrsubnet("10.0.0.0/16", 8, k + 48)]
  enable_nat_gateway    = true
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 20.8"

  cluster_name    = "train"
  cluster_version = "1.31"
  subnet_ids      = slice(module.vpc.private_subnets, 0, 2)

  cluster_addons = {
    vpc-cni = {
      configuration_values = jsonencode({
        env = {
          ENABLE_PREFIX_DELEGATION = "true"
          WARM_PREFIX_TARGET       = "1"
        }
        eniConfig = { subnets = { a = { id = module.vpc.private_subnets[0] } } }
      })
    }
  }

  eks_managed_node_group_defaults = {
    instance_types = ["m6i.large", "m5.large"]
    max_size       = 20
  }

  eks_managed_node_groups = {
    system = {
      min_size = 2
    }
    gpu = {
      name           = "gpus"
      instance_types = ["p4d.24xlarge"]
      subnet_ids     = local.pods
      capacity_type  = "SPOT"
      min_size       = 0
      max_size       = 64
      update_config  = { max_unavailable = 4 }
    }
    off = { create = false }
  }

  self_managed_node_groups = {
    own = {
      instance_type = "g5.xlarge"
      max_size      = 8
    }
  }
}
