"""Bad days of a cluster, as a program: what a snapshot costs, holds and lacks then."""
