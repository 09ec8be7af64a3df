"""The tables of words, by what their subjects belong to; `subjects.py` joins them."""
