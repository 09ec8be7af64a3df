#!/bin/sh
# What 1,013 nodes need of the subscription in southcentralus, beside what it runs already: sh quotas.sh, before the
# first apply. Families with GPUs begin with 0 and more of them takes days; where a request is refused, the portal makes
# a support ticket of it (Quotas > Compute). azurerm has no resource for quotas.
set -eu
az extension add --upgrade --only-show-errors --name quota
az provider register --wait --subscription "00000000-0000-0000-0000-000000000000" --namespace Microsoft.Quota

ask() { # name, number, kind
  az quota update --resource-name "$1" --limit-object "value=$2" --resource-type "$3" \
    --scope "/subscriptions/00000000-0000-0000-0000-000000000000/providers/Microsoft.Compute/locations/southcentralus" ||
    echo "$1 was not raised to $2: ask for it in the portal" >&2
}

ask "standardDDSv5Family" 288 dedicated # 288 vCPUs
ask "cores" 96288 dedicated # 96,288 vCPUs
ask "standardNDSH100v5Family" 96000 dedicated # 96,000 vCPUs
