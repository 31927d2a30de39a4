"""Files, frames and their cells, as an engine opens and reads them.

- `opening`: the files that a table opens. `folders`: files of a batch, and folders of blocks.
- `csv_files`: CSV files split into rows and cells, `csv_lines` into records; `encodings`.
- `cells`: a cell's text as a value. `cell_formats`: how numbers and dates are written.
- `samples`: how the first rows are read. `misread`: what could not be read, for the owner.
- `loading`: cells of CSV files and of Python objects, in DuckDB as their declared types.
- `excel_files`: a sheet of an Excel file as Python objects.
- `parquet_files`: Parquet files, and a copy without invalid cells.
- `frames`: pandas, polars and numpy data as Arrow tables; `objects` converts Python objects.
- `validity`: invalid cells of Arrow columns made missing.
"""
