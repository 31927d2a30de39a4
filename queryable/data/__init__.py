"""Reading tables in memory: columns, rows, and constants to compare them with."""
