"""The arithmetic of scale: pure functions of whole numbers, each with the source of its formula."""
