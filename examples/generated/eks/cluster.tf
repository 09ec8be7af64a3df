module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.18"

  name               = var.name
  kubernetes_version = var.kubernetes_version

  vpc_id            = module.vpc.vpc_id
  subnet_ids        = module.vpc.private_subnets
  service_ipv4_cidr = var.service_cidr

  # Nodes use the private address of the API server; kubectl and Helm, too, unless they come from one of the ranges.
  endpoint_private_access                  = true
  endpoint_public_access                   = length(var.api_ranges) > 0
  endpoint_public_access_cidrs             = var.api_ranges
  enable_cluster_creator_admin_permissions = true
  deletion_protection                      = true # terraform destroy ends here until this is false
  enabled_log_types                        = ["api", "audit", "authenticator", "controllerManager", "scheduler"]

  security_group_additional_rules = {
    vpc = {
      description = "kubectl and Helm from the VPC"
      type        = "ingress"
      protocol    = "tcp"
      from_port   = 443
      to_port     = 443
      cidr_blocks = var.vpc_cidrs
    }
  }

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

    aws-ebs-csi-driver = {
      # Volumes are mounted on system nodes only: the driver's pod would take an address of each training node.
      configuration_values = jsonencode({
        node = {
          tolerateAllTaints = false
        }
      })

      pod_identity_association = [{
        role_arn        = "arn:aws:iam::${var.account}:role/${aws_iam_role_policy_attachment.ebs.role}" # may ask EC2 from its first start on
        service_account = "ebs-csi-controller-sa"
      }]
    }

    aws-fsx-csi-driver = {} # it mounts what storage.tf makes, and makes nothing itself: no role

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

  node_security_group_additional_rules = {
    # The API server asks Kueue itself what waits in a queue; while it cannot, no namespace can be deleted.
    kueue_visibility = {
      description                   = "API server to Kueue"
      type                          = "ingress"
      protocol                      = "tcp"
      from_port                     = 8082
      to_port                       = 8082
      source_cluster_security_group = true
    }

    # EFA talks only between members of a group that lets everything in and out among them: all nodes, whatever their pool.
    efa_ingress = {
      description = "EFA"
      type        = "ingress"
      protocol    = "-1"
      from_port   = 0
      to_port     = 0
      self        = true
    }

    efa_egress = {
      description = "EFA"
      type        = "egress"
      protocol    = "-1"
      from_port   = 0
      to_port     = 0
      self        = true
    }

    lustre_ingress = {
      description              = "Lustre and EFA"
      type                     = "ingress"
      protocol                 = "-1"
      from_port                = 0
      to_port                  = 0
      source_security_group_id = aws_security_group.checkpoints.id
    }

    lustre_egress = {
      description              = "Lustre and EFA"
      type                     = "egress"
      protocol                 = "-1"
      from_port                = 0
      to_port                  = 0
      source_security_group_id = aws_security_group.checkpoints.id
    }
  }

  eks_managed_node_groups = merge(local.system_pools, local.training_pools)
}
