empty_bulk_delete_max = 200
