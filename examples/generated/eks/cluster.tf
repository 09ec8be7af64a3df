module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"

  name               = var.name
  kubernetes_version = var.kubernetes_version

  vpc_id            = module.vpc.vpc_id
  subnet_ids        = module.vpc.private_subnets
  service_ipv4_cidr = var.service_cidr

  # For kubectl and Helm from outside; nodes use the private one.
  endpoint_public_access                   = true
  endpoint_public_access_cidrs             = var.api_cidrs
  enable_cluster_creator_admin_permissions = true
  deletion_protection                      = true # terraform destroy ends here until this is false

  # A control plane that is large before the burst: others grow with the cluster, but minutes too late.
  control_plane_scaling_config = {
    tier = "tier-xl"
  }

  addons = {
    coredns = {
      # A replica for each 16 nodes, as the DNS autoscaler of Kubernetes has it; two are too few for hundreds of nodes.
      configuration_values = jsonencode({
        autoScaling = {
          enabled     = true
          minReplicas = 3
          maxReplicas = 66
        }
      })
    }

    aws-efs-csi-driver = {
      pod_identity_association = [{
        role_arn        = aws_iam_role.efs.arn
        service_account = "efs-csi-controller-sa"
      }]
    }

    eks-pod-identity-agent = {
      before_compute = true
    }

    kube-proxy = {}

    vpc-cni = {
      before_compute = true

      # A node holds 8 addresses from the start: what its DaemonSets and one training pod take.
      # And 2 in reserve, instead of whole interfaces of 50.
      configuration_values = jsonencode({
        env = {
          MINIMUM_IP_TARGET = "8"
          WARM_IP_TARGET    = "2"
        }
      })
    }
  }

  # EFA talks only between members of a group that lets everything in and out among them: all nodes, whatever their pool.
  node_security_group_additional_rules = {
    efa_in = {
      description = "EFA"
      type        = "ingress"
      protocol    = "-1"
      from_port   = 0
      to_port     = 0
      self        = true
    }

    efa_out = {
      description = "EFA"
      type        = "egress"
      protocol    = "-1"
      from_port   = 0
      to_port     = 0
      self        = true
    }
  }

  eks_managed_node_groups = merge(local.system_pools, local.training_pools)
}
