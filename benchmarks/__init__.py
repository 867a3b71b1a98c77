"""Speed and quality, each as a ratio to a named baseline in the same run: `python -m benchmarks`."""
