"""What tests of the command line share."""

from command_line import run

__all__ = ["run"]
