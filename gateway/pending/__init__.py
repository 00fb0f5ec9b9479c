"""What a conversation waits on: a clarification now, confirmations and browser tools by the same table."""
