# 100 nodes pull from here, over the VPC: not through the NAT gateway, and not past the limits of Docker Hub.
# It is sold by the month only.
resource "alicloud_cr_ee_instance" "this" {
  instance_name      = "train-1234567890123456"
  instance_type      = "Advanced" # the edition for many nodes that pull at once
  payment_type       = "Subscription"
  period             = 1
  renewal_status     = "AutoRenewal"
  renew_period       = 1
  default_oss_bucket = "true"
}

# Makes train-1234567890123456-registry-vpc.ap-southeast-1.cr.aliyuncs.com known in the VPC.
resource "alicloud_cr_vpc_endpoint_linked_vpc" "this" {
  instance_id                      = alicloud_cr_ee_instance.this.id
  vpc_id                           = alicloud_vpc.this.id
  vswitch_id                       = alicloud_vswitch.nodes[sort(keys(var.zones))[0]].id
  module_name                      = "Registry"
  enable_create_dns_record_in_pvzt = true
}

resource "alicloud_cr_ee_namespace" "train" {
  instance_id        = alicloud_cr_ee_instance.this.id
  name               = "train"
  auto_create        = false
  default_visibility = "PRIVATE"
}

resource "alicloud_cr_ee_repo" "train" {
  instance_id      = alicloud_cr_ee_instance.this.id
  namespace        = alicloud_cr_ee_namespace.train.name
  name             = "train"
  repo_type        = "PRIVATE"
  summary          = "Training jobs"
  tag_immutability = true # a tag stays what it was when a job was started
}

# Pods pull without secrets of their own. Authorize AliyunCSManagedAcrRole in the console once.
resource "alicloud_cs_kubernetes_addon" "registry" {
  cluster_id = alicloud_cs_managed_kubernetes.this.id
  name       = "managed-aliyun-acr-credential-helper"

  config = jsonencode({
    watchNamespace = "all"
    serviceAccount = "*"

    AcrInstanceInfo = [{
      instanceId = alicloud_cr_ee_instance.this.id
      regionId   = var.region
    }]
  })
}

# Docker Hub. The registry has no pull-through cache: it copies what is listed in var.docker_hub_images, new tags as they
# come, and library/busybox becomes train-1234567890123456-registry-vpc.ap-southeast-1.cr.aliyuncs.com/library/busybox.
resource "alicloud_cr_ee_namespace" "docker_hub" {
  for_each = toset([for image in keys(var.docker_hub_images) : split("/", image)[0]])

  instance_id        = alicloud_cr_ee_instance.this.id
  name               = each.key
  auto_create        = false
  default_visibility = "PRIVATE"
}

resource "alicloud_cr_ee_repo" "docker_hub" {
  for_each = var.docker_hub_images

  instance_id = alicloud_cr_ee_instance.this.id
  namespace   = alicloud_cr_ee_namespace.docker_hub[split("/", each.key)[0]].name
  name        = split("/", each.key)[1]
  repo_type   = "PRIVATE"
  summary     = "Copy of docker.io/${each.key}"
}

resource "alicloud_cr_artifact_subscription_rule" "docker_hub" {
  for_each = var.docker_hub_images

  instance_id           = alicloud_cr_ee_instance.this.id
  source_provider       = "DOCKER_HUB"
  source_namespace_name = split("/", each.key)[0]
  source_repo_name      = split("/", each.key)[1]
  namespace_name        = alicloud_cr_ee_repo.docker_hub[each.key].namespace
  repo_name             = alicloud_cr_ee_repo.docker_hub[each.key].name
  tag_regexp            = each.value
  tag_count             = 5     # the newest ones
  override              = false # a tag that is moved on Docker Hub stays what it was here
  platform              = ["linux/amd64"]
}
