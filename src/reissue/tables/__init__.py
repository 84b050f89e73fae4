"""From a data frame to coded columns, and from groups to tables that may leave the building."""
