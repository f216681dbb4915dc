"""Every corner in which a difference is let pass. One that is never met in a long run is an error
of this table.
"""

from differential import broker_corners, client_corners, delayed_corners

TOLERATED = (*client_corners.CORNERS, *delayed_corners.CORNERS, *broker_corners.CORNERS)
