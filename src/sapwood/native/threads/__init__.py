"""The team of threads that runs a kernel."""
