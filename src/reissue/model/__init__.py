"""The nouns: what the parts of the library hand to each other. They compute little and decide nothing."""
