"""Claude, through anthropic."""
