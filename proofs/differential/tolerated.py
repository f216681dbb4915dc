"""Every corner in which a difference is let pass. One that is never met in a long run is an error of this table."""

from differential import broker_corners, client_corners

TOLERATED = (*client_corners.CORNERS, *broker_corners.CORNERS)
