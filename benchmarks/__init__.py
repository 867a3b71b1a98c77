"""Speed and quality of recrawl, each as a ratio to a named baseline in the same run: `python -m benchmarks`."""
