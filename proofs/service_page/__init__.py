"""The page of the service in a real browser."""
