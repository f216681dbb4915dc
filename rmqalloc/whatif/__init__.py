"""Former names, which go with release 0.3.0: `plan` is what the README of 0.1.0 showed."""
