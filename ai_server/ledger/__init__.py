"""Money: reserve before a paid call, settle after it, never lose or invent an amount."""
