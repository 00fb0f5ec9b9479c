"""From a file's bytes to headed blocks of text, or a reason why not."""
