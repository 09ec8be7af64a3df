provider "aws" {
  region = "us-east-1"
}

module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "6.5.0"

  name               = "vision"
  cidr               = "10.40.0.0/16"
  azs                = ["us-east-1a", "us-east-1b"]
  private_subnets    = ["10.40.0.0/22", "10.40.4.0/22"]
  public_subnets     = ["10.40.100.0/24", "10.40.101.0/24"]
  enable_nat_gateway = true
  single_nat_gateway = true
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "21.8.0"

  name               = "vision"
  kubernetes_version = "1.34"
  vpc_id             = module.vpc.vpc_id
  subnet_ids         = module.vpc.private_subnets

  addons = {
    coredns    = {}
    kube-proxy = {}
    vpc-cni = {
      before_compute = true
      configuration_values = jsonencode({
        env = {
          ENABLE_PREFIX_DELEGATION = "true"
          WARM_PREFIX_TARGET       = "1"
        }
      })
    }
  }

  eks_managed_node_groups = {
    system = {
      instance_types = ["m6i.large"]
      subnet_ids     = [module.vpc.private_subnets[1]]
      min_size       = 2
      max_size       = 2
      desired_size   = 2
    }
    train = {
      instance_types = ["g6.xlarge"]
      ami_type       = "AL2023_x86_64_NVIDIA"
      subnet_ids     = [module.vpc.private_subnets[0]]
      min_size       = 0
      max_size       = 40
      desired_size   = 4
      labels         = { workload = "train" }
      taints = {
        gpu = { key = "nvidia.com/gpu", value = "true", effect = "NO_SCHEDULE" }
      }
    }
  }
}
