"""What is right where it is no value."""


class Sign:
    """Printed by its name."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


ANY, REFUSED = Sign("anything"), Sign("an error")
