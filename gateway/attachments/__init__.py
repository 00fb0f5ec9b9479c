"""Files that visitors send: checked from their header, rewritten apart, and kept for the turn that carries them."""
