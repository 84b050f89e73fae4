"""Packages for recipients: public tables with everything that somebody needs who was not there."""
