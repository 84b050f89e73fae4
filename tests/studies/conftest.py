"""What tests of the studies share: they run the command line too."""

from command_line import run

__all__ = ["run"]
