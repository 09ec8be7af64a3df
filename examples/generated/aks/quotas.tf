# What 1,013 nodes need of the subscription in southcentralus, beside what it runs already:
#
#   208 vCPUs of standardDDSv5Family
#   96,208 vCPUs of cores
#   96,000 vCPUs of standardNDSH100v5Family
#
# azurerm has no resource for quotas. Ask in the portal (Quotas > Compute), or for each by `az quota update` of the
# extension `quota`. Families with GPUs begin with 0, and more of them takes days: ask before the first apply.
