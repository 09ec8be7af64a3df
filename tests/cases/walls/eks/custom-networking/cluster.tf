resource "aws_eks_cluster" "lab" {
  name     = "lab"
  role_arn = "arn:aws:iam::123456789012:role/eks-cluster"
  version  = "1.33"
  vpc_config {
    subnet_ids = [for s in aws_subnet.nodes : s.id]
  }
}

resource "aws_eks_addon" "vpc_cni" {
  cluster_name = aws_eks_cluster.lab.name
  addon_name   = "vpc-cni"
  configuration_values = jsonencode({
    env = {
      AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG = "true"
      ENI_CONFIG_LABEL_DEF               = "topology.kubernetes.io/zone"
      WARM_IP_TARGET                     = "2"
      MINIMUM_IP_TARGET                  = "16"
    }
    eniConfig = {
      create  = true
      region  = "eu-central-1"
      subnets = { for zone, s in aws_subnet.pods : zone => { id = s.id } }
    }
  })
}

resource "aws_eks_node_group" "pool" {
  for_each = {
    system = { type = "m6i.large", min = 2, desired = 2, max = 2 }
    gpu    = { type = "g5.48xlarge", min = 0, desired = 8, max = 80 }
  }
  cluster_name    = aws_eks_cluster.lab.name
  node_group_name = each.key
  node_role_arn   = "arn:aws:iam::123456789012:role/eks-node"
  subnet_ids      = [for s in aws_subnet.nodes : s.id]
  instance_types  = [each.value.type]
  ami_type        = each.key == "gpu" ? "AL2023_x86_64_NVIDIA" : "AL2023_x86_64_STANDARD"
  labels          = { pool = each.key }
  scaling_config {
    min_size     = each.value.min
    desired_size = each.value.desired
    max_size     = each.value.max
  }
  depends_on = [aws_eks_addon.vpc_cni]
}
