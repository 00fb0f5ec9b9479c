"""Documents and their index: what can be found, and by whom."""
