# No size but one, no CNI settings, Auto Mode off.
variable "vpc_id" {
  type = string
}

module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "6.6.0"

  azs                = ["us-east-1a", "us-east-1b", "us-east-1c"]
  private_subnets    = ["10.0.0.0/19", "10.0.32.0/19", "10.0.64.0/19"]
  public_subnets     = ["10.0.96.0/24"]
  enable_nat_gateway = true
  single_nat_gateway = true
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = ">= 21.3"

  name               = "train-${var.vpc_id}"
  kubernetes_version = "1.33"
  subnet_ids         = module.vpc.private_subnets

  control_plane_scaling_config = { tier = "tier-xl" }

  eks_managed_node_groups = {
    default = {}
    gpu = {
      instance_types = ["p5.48xlarge"]
      subnet_ids     = [module.vpc.private_subnets[1]]
      min_size       = 0
      max_size       = 32
      update_config  = { max_unavailable = 1, update_strategy = "MINIMAL" }
    }
  }
}
