# What 104 nodes need of the account. Apply this first, alone (terraform apply -target=alicloud_quotas_quota_application.nodes),
# and take it out where the quota is higher already. Quotas of ECS are requested in Quota Center: README.md has them.
resource "alicloud_quotas_quota_application" "nodes" {
  product_code      = "csk"
  quota_action_code = "q_i5uzm3"
  desire_value      = 104 # Nodes of a cluster
  reason            = "Training jobs on ${var.name}"
  env_language      = "en"
}
