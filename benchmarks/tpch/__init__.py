"""The queries of TPC-H, asked here and of others."""
