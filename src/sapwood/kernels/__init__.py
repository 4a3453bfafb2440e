"""Hot loops: plain Python functions on arrays, compiled when the package is built."""
