"""The AI server: retrieval, generation, tokens, money and readiness, behind gRPC on this machine only."""
