"""What 0.1.0 answered wrongly, and the tests that hold the right answer."""
