"""FROM with several tables: as it is written, and as the owner has joined them."""
