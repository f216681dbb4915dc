"""Hand-made mutants of the product: each is a small lie that some test must see."""
