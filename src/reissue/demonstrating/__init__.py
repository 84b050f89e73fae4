"""The demo: an invented hospital published in three ways, attacked, analysed, and shown on one page."""
