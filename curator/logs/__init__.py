"""The log of a root: its messages as events, read back and made into states again.

- `journal`: writes the events. `written`: the text of a query. `effects`: what a message did.
- `story`, `reading`: read them. `requests`: request keys and times. `exports`: lines of a file.
- `skimming`: makes the state again without decoding most of the log, with `gathering` and
  `targets`. `keeping`: states of persons beside the key, as a cache.
- `batches`: batches by their fingerprints. `batch_files`: the folder of their files.
"""
