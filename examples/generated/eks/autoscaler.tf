resource "helm_release" "cluster_autoscaler" {
  name       = "cluster-autoscaler"
  namespace  = "kube-system"
  repository = "https://kubernetes.github.io/autoscaler"
  chart      = "cluster-autoscaler"
  version    = "9.59.0" # brings the autoscaler of Kubernetes 1.35; another minor version knows other flags

  values = [
    file("${path.module}/values/cluster-autoscaler.yaml"),
  ]

  # Nodes to run on, and the right to install it, are of the module.
  depends_on = [module.eks, aws_eks_pod_identity_association.cluster_autoscaler]
}

resource "aws_eks_pod_identity_association" "cluster_autoscaler" {
  cluster_name    = module.eks.cluster_name
  namespace       = "kube-system"
  service_account = "cluster-autoscaler"
  role_arn        = aws_iam_role.cluster_autoscaler.arn
}

resource "aws_iam_role" "cluster_autoscaler" {
  name_prefix        = "${var.name}-autoscaler-"
  assume_role_policy = data.aws_iam_policy_document.pods.json
}

resource "aws_iam_role_policy" "cluster_autoscaler" {
  name   = "node-groups"
  role   = aws_iam_role.cluster_autoscaler.id
  policy = data.aws_iam_policy_document.cluster_autoscaler.json
}

data "aws_iam_policy_document" "cluster_autoscaler" {
  # What only reads, and is of no single resource.
  statement {
    actions = [
      "autoscaling:DescribeAutoScalingGroups",
      "autoscaling:DescribeAutoScalingInstances",
      "autoscaling:DescribeLaunchConfigurations",
      "autoscaling:DescribeScalingActivities",
      "autoscaling:DescribeTags",
      "ec2:DescribeImages",
      "ec2:DescribeInstanceTypes",
      "ec2:DescribeLaunchTemplateVersions",
      "ec2:GetInstanceTypesFromInstanceRequirements",
    ]

    resources = ["*"]
  }

  # The labels and taints of pools without nodes.
  statement {
    actions   = ["eks:DescribeNodegroup"]
    resources = ["arn:aws:eks:${var.region}:${var.account}:nodegroup/${var.name}/*"]
  }

  # EKS tags the groups of its node groups itself; the autoscaler changes those of this cluster only.
  statement {
    actions   = ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"]
    resources = ["arn:aws:autoscaling:${var.region}:${var.account}:autoScalingGroup:*:autoScalingGroupName/eks-*"]

    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/k8s.io/cluster-autoscaler/${var.name}"
      values   = ["owned"]
    }
  }
}

# A pool without nodes shows no EFA: without this tag, the autoscaler starts none for a job that asks for it.
resource "aws_autoscaling_group_tag" "efa" {
  for_each = { for name, pool in var.training_pools : name => pool if !pool.spot }

  autoscaling_group_name = module.eks.eks_managed_node_groups[each.key].node_group_autoscaling_group_names[0]

  tag {
    key                 = "k8s.io/cluster-autoscaler/node-template/resources/vpc.amazonaws.com/efa"
    value               = "32"
    propagate_at_launch = false
  }
}
