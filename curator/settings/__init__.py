"""What the owner's file of TOML says.

- `configuration`: a ledger, its key and the data sets. `datasets`, `budgets`: their parts.
- `sections`: tables whose errors name the file and the key. `file_errors`: errors of the
  operating system in words.
"""
