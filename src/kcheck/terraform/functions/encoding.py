TABLE: dict = {}  # placeholder until written
