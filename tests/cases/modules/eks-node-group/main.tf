# A group by its own module, on a raw cluster; a launch template of its own.
resource "aws_eks_cluster" "train" {
  name = "train"

  vpc_config {
    subnet_ids = [aws_subnet.a.id]
  }
}

resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}

resource "aws_vpc_ipv4_cidr_block_association" "pods" {
  vpc_id     = aws_vpc.main.id
  cidr_block = "100.64.0.0/16"
}

resource "aws_subnet" "a" {
  vpc_id     = aws_vpc_ipv4_cidr_block_association.pods.vpc_id
  cidr_block = "100.64.0.0/20"
  tags       = { Name = "nodes-a" }
}

module "group" {
  source  = "terraform-aws-modules/eks/aws//modules/eks-managed-node-group"
  version = "~> 20.0"

  name         = "cpu"
  cluster_name = aws_eks_cluster.train.name
  subnet_ids   = [aws_subnet.a.id]
  max_size     = 10
}

resource "aws_launch_template" "gpu" {
  name          = "gpu"
  instance_type = "g5.12xlarge"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.train.id
  node_group_name = "gpu"
  subnet_ids      = [aws_subnet.a.id]

  launch_template {
    name    = aws_launch_template.gpu.name
    version = "$Latest"
  }

  scaling_config {
    min_size     = 1
    max_size     = 4
    desired_size = 1
  }
}

resource "aws_autoscaling_group" "own" {
  name                = "own"
  min_size            = 0
  max_size            = 6
  vpc_zone_identifier = [aws_subnet.a.id]

  mixed_instances_policy {
    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.gpu.id
      }

      override {
        instance_type = "g5.24xlarge"
      }

      override {
        instance_type = "g5.48xlarge"
      }
    }
  }

  tag {
    key                 = "kubernetes.io/cluster/train"
    value               = "owned"
    propagate_at_launch = true
  }
}

resource "aws_autoscaling_group" "web" {
  name                = "not of the cluster"
  min_size            = 0
  max_size            = 50
  vpc_zone_identifier = [aws_subnet.a.id]
}
