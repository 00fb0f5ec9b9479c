"""What is kept of a visitor, handed out whole and removed whole."""
