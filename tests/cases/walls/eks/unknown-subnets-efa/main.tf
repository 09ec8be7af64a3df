variable "vpc_id" {
  type = string
}

variable "private_subnet_ids" {
  description = "Private subnets of the shared network account"
  type        = list(string)
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"

  name               = "llm"
  kubernetes_version = "1.34"
  vpc_id             = var.vpc_id
  subnet_ids         = var.private_subnet_ids

  eks_managed_node_groups = {
    system = {
      instance_types = ["m6i.xlarge"]
      min_size       = 2
      max_size       = 2
      desired_size   = 2
    }
  }

  self_managed_node_groups = {
    p5 = {
      instance_type      = "p5.48xlarge"
      ami_type           = "AL2023_x86_64_NVIDIA"
      subnet_ids         = [var.private_subnet_ids[0]]
      enable_efa_support = true
      min_size           = 0
      max_size           = 200
      desired_size       = 8
    }
  }
}
