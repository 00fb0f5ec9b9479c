"""Gemini, through google-genai: the Developer API with a key, or Vertex AI with a project."""
