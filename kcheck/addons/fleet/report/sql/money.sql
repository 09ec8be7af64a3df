-- What runs waste, without those who waste nothing.
FROM query_money WHERE clusters_with_dollars + clusters_without_price + clusters_unknown > 0
