"""Who someone is, what they may read, and how much they may ask at once."""
