resource "aws_subnet" "nodes" {
  vpc_id            = aws_vpc.audio.id
  cidr_block        = "10.2.0.0/22"
  availability_zone = "sa-east-1a"
}

resource "aws_vpc" "audio" {
  cidr_block = "10.2.0.0/16"
}

resource "aws_instance" "control_plane" {
  for_each      = toset(["0", "1", "2"])
  ami           = "ami-0fedcba9876543210"
  instance_type = "m5.xlarge"
  subnet_id     = aws_subnet.nodes.id
  tags          = { Name = "audio-cp-${each.key}", "kubernetes.io/cluster/audio" = "owned" }
}

resource "aws_launch_template" "gpu" {
  name          = "audio-gpu"
  image_id      = "ami-0fedcba9876543210"
  instance_type = "g4dn.xlarge"
}

resource "aws_autoscaling_group" "gpu" {
  name                = "audio-gpu"
  min_size            = 0
  desired_capacity    = 12
  max_size            = 60
  vpc_zone_identifier = [aws_subnet.nodes.id]
  launch_template { id = aws_launch_template.gpu.id }
  tag {
    key                 = "kubernetes.io/cluster/audio"
    value               = "owned"
    propagate_at_launch = true
  }
}
