variable "gpu_instance_type" {
  type = string
}

variable "train_max" {
  type    = number
  default = 20
}

module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 5.0"

  name               = "sim"
  cidr               = "10.90.0.0/16"
  azs                = ["us-east-1a", "us-east-1b", "us-east-1c"]
  private_subnets    = ["10.90.0.0/20", "10.90.16.0/20", "10.90.32.0/20"]
  public_subnets     = ["10.90.240.0/24", "10.90.241.0/24", "10.90.242.0/24"]
  enable_nat_gateway = true
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 20.0"

  cluster_name    = "sim"
  cluster_version = "1.33"
  vpc_id          = module.vpc.vpc_id
  subnet_ids      = module.vpc.private_subnets

  eks_managed_node_groups = {
    system = {
      instance_types = ["m6i.large"]
      min_size       = 2
      max_size       = 2
      desired_size   = 2
    }
    train = {
      instance_types = [var.gpu_instance_type]
      min_size       = 0
      max_size       = var.train_max
      desired_size   = 0
    }
  }
}
