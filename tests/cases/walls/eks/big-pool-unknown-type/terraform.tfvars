train_max = 600
