"""A release rehearsed: everything is built from a clean clone, checked, and told on one page."""
