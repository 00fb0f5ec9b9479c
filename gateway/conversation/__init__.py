"""What a conversation is and how it goes on: pure rules, no I/O."""
