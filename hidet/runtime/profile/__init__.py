"""What each launch of a compiled graph takes, measured while the graph runs as a whole."""

from hidet.runtime.profile.profile import LaunchTimes, Profile

__all__ = ["LaunchTimes", "Profile"]
