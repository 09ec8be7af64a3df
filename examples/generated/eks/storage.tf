# Checkpoints: every node of a job writes to the same file system, in whatever zone it is, and the next attempt reads it.
resource "aws_efs_file_system" "checkpoints" {
  creation_token  = "${var.name}-checkpoints"
  encrypted       = true
  throughput_mode = "elastic" # nothing to pay for between checkpoints

  tags = {
    Name = "${var.name}-checkpoints"
  }
}

resource "aws_efs_mount_target" "checkpoints" {
  for_each = var.zones

  file_system_id  = aws_efs_file_system.checkpoints.id
  subnet_id       = module.vpc.private_subnets[index(sort(keys(var.zones)), each.key)]
  security_groups = [aws_security_group.checkpoints.id]
}

resource "aws_security_group" "checkpoints" {
  name        = "${var.name}-checkpoints"
  description = "NFS from the nodes"
  vpc_id      = module.vpc.vpc_id
}

resource "aws_vpc_security_group_ingress_rule" "checkpoints" {
  security_group_id            = aws_security_group.checkpoints.id
  referenced_security_group_id = module.eks.node_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = 2049
  to_port                      = 2049
}

resource "aws_iam_role" "efs" {
  name               = "${var.name}-efs-csi"
  assume_role_policy = data.aws_iam_policy_document.pods.json
}

resource "aws_iam_role_policy_attachment" "efs" {
  role       = aws_iam_role.efs.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonEFSCSIDriverPolicy"
}

resource "kubernetes_storage_class_v1" "checkpoints" {
  metadata {
    name = "checkpoints"
  }

  storage_provisioner = "efs.csi.aws.com"
  reclaim_policy      = "Retain" # a claim that is deleted takes no checkpoints with it

  parameters = {
    provisioningMode = "efs-ap"
    fileSystemId     = aws_efs_file_system.checkpoints.id
    directoryPerms   = "700"
  }

  depends_on = [module.eks] # the right to make it
}

data "aws_iam_policy_document" "pods" {
  statement {
    actions = ["sts:AssumeRole", "sts:TagSession"]

    principals {
      type        = "Service"
      identifiers = ["pods.eks.amazonaws.com"]
    }
  }
}
