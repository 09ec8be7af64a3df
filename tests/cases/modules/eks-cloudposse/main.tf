# A cluster and its groups, each a module of its own; the groups are linked by the output that the first one has.
module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 5.0"

  name            = "train"
  cidr            = "10.0.0.0/16"
  azs             = ["eu-west-1a", "eu-west-1b"]
  private_subnets = ["10.0.0.0/20", "10.0.16.0/20"]
}

module "eks_cluster" {
  source  = "cloudposse/eks-cluster/aws"
  version = "4.2.0"

  namespace          = "acme"
  stage              = "train"
  kubernetes_version = "1.31"
  subnet_ids         = module.vpc.private_subnets
  addons = [
    { addon_name = "vpc-cni", configuration_values = jsonencode({ env = { ENABLE_PREFIX_DELEGATION = "true" } }) },
  ]
}

module "gpu" {
  source  = "cloudposse/eks-node-group/aws"
  version = "~> 2.12"

  cluster_name      = module.eks_cluster.eks_cluster_id
  subnet_ids        = module.vpc.private_subnets
  instance_types    = ["p4d.24xlarge"]
  min_size          = 0
  max_size          = 64
  desired_size      = 0
  kubernetes_taints = [{ key = "gpu", value = "yes", effect = "NO_SCHEDULE" }]
  block_device_map  = { "/dev/xvda" = { ebs = { volume_size = 500 } } }
  update_config     = [{ max_unavailable = 4 }]
}

module "system" {
  source  = "cloudposse/eks-node-group/aws"
  version = "2.6.0"

  cluster_name                   = module.eks_cluster.eks_cluster_id
  subnet_ids                     = module.vpc.private_subnets
  min_size                       = 2
  max_size                       = 2
  desired_size                   = 2
  after_cluster_joining_userdata = ["echo joined"]
}

module "label" {
  source  = "cloudposse/label/null"
  version = "0.25.0"

  enabled = false
}

module "off" {
  source  = "cloudposse/eks-node-group/aws"
  version = "2.6.0"

  context      = module.label.context
  cluster_name = module.eks_cluster.eks_cluster_id
  subnet_ids   = module.vpc.private_subnets
  min_size     = 1
  max_size     = 1
  desired_size = 1
}
