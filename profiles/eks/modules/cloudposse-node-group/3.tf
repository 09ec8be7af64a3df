# cloudposse/eks-node-group/aws from 3.0 on, which knows Amazon Linux 2023: all is in all.tf.
