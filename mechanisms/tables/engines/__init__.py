"""Engines: what adds up a table's rows. Each is imported where it is used."""
