provider "aws" {
  region = "us-west-2"
}

locals {
  name = "research"
  azs  = ["us-west-2a", "us-west-2b", "us-west-2c"]
}

module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 5.0"

  name                   = local.name
  cidr                   = "10.30.0.0/16"
  azs                    = local.azs
  private_subnets        = [for i, az in local.azs : cidrsubnet("10.30.0.0/16", 4, i)]
  public_subnets         = [for i, az in local.azs : cidrsubnet("10.30.0.0/16", 8, 240 + i)]
  enable_nat_gateway     = true
  one_nat_gateway_per_az = true
  private_subnet_tags    = { "karpenter.sh/discovery" = local.name }
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 20.0"

  cluster_name             = local.name
  cluster_version          = "1.33"
  vpc_id                   = module.vpc.vpc_id
  subnet_ids               = module.vpc.private_subnets
  node_security_group_tags = { "karpenter.sh/discovery" = local.name }

  eks_managed_node_groups = {
    karpenter = {
      instance_types = ["m6i.large"]
      min_size       = 3
      max_size       = 3
      desired_size   = 3
    }
  }
}
