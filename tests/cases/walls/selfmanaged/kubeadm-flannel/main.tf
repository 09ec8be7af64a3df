provider "aws" {
  region = "us-east-1"
}

resource "aws_vpc" "bio" {
  cidr_block = "10.1.0.0/16"
}

resource "aws_subnet" "nodes" {
  for_each          = { a = "10.1.0.0/20", b = "10.1.16.0/20" }
  vpc_id            = aws_vpc.bio.id
  cidr_block        = each.value
  availability_zone = "us-east-1${each.key}"
}

resource "aws_instance" "control_plane" {
  count         = 3
  ami           = "ami-0a1b2c3d4e5f67890"
  instance_type = "m6i.2xlarge"
  subnet_id     = aws_subnet.nodes["a"].id
  user_data     = file("${path.module}/kubeadm.yaml")
}

resource "aws_launch_template" "worker" {
  name_prefix   = "bio-worker-"
  image_id      = "ami-0a1b2c3d4e5f67890"
  instance_type = "g4dn.2xlarge"
}

resource "aws_autoscaling_group" "worker" {
  name                = "bio-worker"
  min_size            = 0
  desired_capacity    = 40
  max_size            = 400
  vpc_zone_identifier = [for s in aws_subnet.nodes : s.id]
  launch_template {
    id      = aws_launch_template.worker.id
    version = "$Latest"
  }
  tag {
    key                 = "kubernetes.io/cluster/bio"
    value               = "owned"
    propagate_at_launch = true
  }
}
