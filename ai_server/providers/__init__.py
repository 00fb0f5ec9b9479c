"""Models: generation, embedding, token counts and prices, one folder a provider."""
