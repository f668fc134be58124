"""The routes, area by area. Domains list theirs in their manifests."""
