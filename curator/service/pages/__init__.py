"""Pages for people: trees with budgets, and who asked what when.

- `content`: what a page shows, as values of JSON. It runs where the data are.
- `models`: how the front puts these values together for a page, and which rows a filter keeps.
- `rendering`: values as HTML, by the templates here.
- `exports`: rows as CSV and JSON.
- `sessions`: who is logged in.
- `site`: the addresses.

Templates and assets are files of this package. Nothing is loaded from elsewhere.
"""
