"""Live systems that are searched on request: Jellyfin, Nextcloud, GitHub, and any HTTP service by description."""
