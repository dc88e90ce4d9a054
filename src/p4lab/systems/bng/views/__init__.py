"""Views of the gateway, for notebooks: how a subscriber dials in (`dial`), and how fast each of
them is while their classes change (`speed`)."""
