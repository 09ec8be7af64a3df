"""Numbers that rules ask for and that nobody wrote: one function a word, each from the model and its world."""
