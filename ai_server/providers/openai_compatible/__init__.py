"""OpenAI's chat format, and everyone who speaks it: one folder, one profile each."""
