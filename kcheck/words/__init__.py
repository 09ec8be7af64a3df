"""A thing of the model in, plain data for its rules out: the tables of words, what they compute, and views of them."""
