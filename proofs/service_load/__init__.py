"""Many readers of one service at once."""
