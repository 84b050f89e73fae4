"""What the releases themselves say about the assumptions that conclusions over several of them rest on."""
