"""How large a history of a year is, and how quickly it answers."""
