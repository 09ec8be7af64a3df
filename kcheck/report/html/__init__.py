"""Pages of HTML and pictures that need nothing else: one look for all of them."""
