"""Methods that cut or generalise one table at a time."""
