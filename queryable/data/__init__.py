"""Reading tables in memory: columns, rows, and constants to compare them with.

`later` has values of the data that are made when a mechanism needs them; `growing` data that grow,
which `forms` puts into `stores`, and frames into `pieces`.
"""
