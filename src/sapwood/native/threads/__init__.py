"""Teams of threads that run kernels."""
