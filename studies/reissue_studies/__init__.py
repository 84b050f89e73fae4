"""The experiments of the five papers, run with this library: a folder for each paper."""
