"""Tables that differ from a table in few rows, for `queryable.audit.rows`: data are read uncharged.

- `of_table`: the form of a table, or of a batch that is fed to one.
- `reopening`: a source with other rows is opened again as the table was. `csv_records`, `parquet`
  and `workbooks` write such a file into a temporary folder (`written`); the owner's files are only
  read.
- `parts`: rows of a table that has grown, or is in blocks, in the table's own database.
- `databases`: rows of a database behind Ibis, as a statement. `joined`: tables that were joined.
"""
