"""All methods on the same streams: what each costs, what is left to analysts, and what attacks get."""
