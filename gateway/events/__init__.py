"""Event streams on their way to readers: exact resumption, one encoding for all, slow readers never in the way."""
