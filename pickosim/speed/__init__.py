"""Speed: kernels made ready before the clock starts, and games a second, measured.

In reading order: `warm` (every kernel compiled or loaded), `baseline` (a plain Python game), `bench`.
"""
