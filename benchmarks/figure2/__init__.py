"""The experiment of Rogers et al. 2023, Figure 2: `python -m benchmarks.figure2`."""
