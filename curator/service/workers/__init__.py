"""Workers: processes that have the data, and what reaches them.

- `worker`: a worker's main program. `isolation`: what it may not do.
- `workers`: `WorkerService`, a worker as the front sees it. `lines`: a channel to it.
- `frames`: what the two send each other. `recipes`: how a worker makes its service.
"""
