# Groups with and without a launch template, of the machines that the module chooses and of others.
module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 4.0"

  name            = "train"
  cidr            = "10.0.0.0/16"
  azs             = ["eu-west-1a", "eu-west-1b"]
  private_subnets = ["10.0.0.0/20", "10.0.16.0/20"]
  public_subnets  = ["10.0.32.0/24", "10.0.33.0/24"]
}

module "eks_blueprints" {
  source = "github.com/aws-ia/terraform-aws-eks-blueprints?ref=v4.18.1"

  cluster_name       = "train"
  private_subnet_ids = module.vpc.private_subnets
  public_subnet_ids  = module.vpc.public_subnets

  managed_node_groups = {
    system = {
      node_group_name = "system"
      subnet_type     = "public"
    }
    gpu = {
      node_group_name        = "gpu"
      instance_types         = ["p4d.24xlarge"]
      ami_type               = "AL2_x86_64_GPU"
      capacity_type          = "SPOT"
      subnet_ids             = [module.vpc.private_subnets[0]]
      min_size               = 0
      max_size               = 64
      create_launch_template = true
      format_mount_nvme_disk = true
      update_config          = [{ max_unavailable_percentage = 30 }]
      k8s_labels             = { gpu = "a100" }
      k8s_taints             = [{ key = "gpu", value = "yes", effect = "NO_SCHEDULE" }]
    }
  }

  self_managed_node_groups = {
    own = {
      node_group_name = "own"
      instance_types  = ["g5.xlarge", "g5.2xlarge"]
      capacity_type   = "spot"
      max_size        = 20
    }
  }
}
