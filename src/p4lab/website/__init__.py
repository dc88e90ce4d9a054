"""The lab as a page: a site that needs no server, and what builds it (docs/web.md)."""
