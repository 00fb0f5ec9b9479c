"""Mistral, through mistralai."""
