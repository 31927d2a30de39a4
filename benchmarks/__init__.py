"""What queryable costs, beside others that do the same in the same run."""
