"""What a running tree holds: its state, its log and its handles."""
