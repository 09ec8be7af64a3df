# Checkpoints and datasets: a file system that all nodes of a job use at once, and that the next attempt reads.
# 128 nodes x 470 MB/s = 60,160 MB/s: what NVIDIA calls good for reading by 128 nodes of eight H100, 60 GB/s for all; writing needs half of it.
# 62,400 GiB = 60.9 TiB x 1,000 MB/s = 60,937 MB/s; 4,800 GiB at least, in steps of 4,800.
resource "aws_fsx_lustre_file_system" "checkpoints" {
  deployment_type             = "PERSISTENT_2"
  file_system_type_version    = "2.15" # older ones refuse the Lustre client of Amazon Linux 2023
  storage_type                = "SSD"
  storage_capacity            = var.checkpoints.capacity
  per_unit_storage_throughput = 1000 # the most for each TiB, and the cheapest for each MB/s: 125 MB/s a TiB cost twice as much for the same throughput
  efa_enabled                 = true # AWS recommends EFA from 10 GB/s on; it is chosen when the file system is made, and nodes without it use TCP
  subnet_ids                  = [module.vpc.private_subnets[index(sort(keys(var.zones)), var.checkpoints.zone)]]
  security_group_ids          = [aws_security_group.checkpoints.id]

  metadata_configuration {
    mode = "AUTOMATIC" # grows with the capacity
  }

  tags = {
    Name = "${var.name}-checkpoints"
  }

  lifecycle {
    prevent_destroy = true # another zone is another file system: copy the checkpoints first
  }

  depends_on = [aws_vpc_security_group_ingress_rule.checkpoints, aws_vpc_security_group_egress_rule.checkpoints]
}

resource "aws_security_group" "checkpoints" {
  name_prefix = "${var.name}-checkpoints-"
  description = "Lustre between its servers and the nodes"
  vpc_id      = module.vpc.vpc_id
}

# EFA wants all traffic among the servers, and between them and the nodes; groups are named, as ranges do not count.
locals {
  lustre_groups = {
    nodes   = module.eks.node_security_group_id
    servers = aws_security_group.checkpoints.id
  }
}

resource "aws_vpc_security_group_ingress_rule" "checkpoints" {
  for_each = local.lustre_groups

  description                  = "Lustre and EFA, ${each.key}"
  security_group_id            = aws_security_group.checkpoints.id
  referenced_security_group_id = each.value
  ip_protocol                  = "-1"
}

resource "aws_vpc_security_group_egress_rule" "checkpoints" {
  for_each = local.lustre_groups

  description                  = "Lustre and EFA, ${each.key}"
  security_group_id            = aws_security_group.checkpoints.id
  referenced_security_group_id = each.value
  ip_protocol                  = "-1"
}

# A claim of each team shows its own folder only; that of kube-system shows all, for kubernetes/checkpoints.yaml to make the folders.
resource "kubernetes_persistent_volume_v1" "checkpoints" {
  for_each = {
    kube-system = ""
    research    = "/research"
    product     = "/product"
  }

  metadata {
    name = "checkpoints-${each.key}"
  }

  spec {
    access_modes                     = ["ReadWriteMany"]
    mount_options                    = ["flock", "noatime"] # reading a dataset writes nothing
    persistent_volume_reclaim_policy = "Retain"             # a claim that is deleted takes no checkpoints with it
    storage_class_name               = "checkpoints"

    capacity = {
      storage = "${var.checkpoints.capacity}Gi" # of all teams together
    }

    claim_ref {
      namespace = each.key
      name      = "checkpoints"
    }

    persistent_volume_source {
      csi {
        driver        = "fsx.csi.aws.com"
        volume_handle = "${aws_fsx_lustre_file_system.checkpoints.id}-${each.key}"

        volume_attributes = {
          dnsname   = aws_fsx_lustre_file_system.checkpoints.dns_name
          mountname = "${aws_fsx_lustre_file_system.checkpoints.mount_name}${each.value}"
        }
      }
    }
  }

  depends_on = [module.eks] # the right to make it
}

# Volumes of single pods, as Prometheus keeps its samples on: EKS has no default class, and no driver, of its own.
resource "kubernetes_storage_class_v1" "volumes" {
  metadata {
    name = "gp3"

    annotations = {
      "storageclass.kubernetes.io/is-default-class" = "true"
    }
  }

  storage_provisioner    = "ebs.csi.aws.com"
  volume_binding_mode    = "WaitForFirstConsumer" # a volume is in one zone: that of the node that its pod got
  allow_volume_expansion = true

  parameters = {
    type      = "gp3"
    encrypted = "true"
  }

  depends_on = [module.eks] # the right to make it
}

resource "aws_iam_role" "ebs" {
  name_prefix        = "${var.name}-ebs-csi-"
  assume_role_policy = data.aws_iam_policy_document.pods.json
}

resource "aws_iam_role_policy_attachment" "ebs" {
  role       = aws_iam_role.ebs.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy"
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
