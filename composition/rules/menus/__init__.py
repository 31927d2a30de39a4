"""`Menu`: launches from a public menu of epsilons, charged in units of cost.

- `menu`: the rule. `worst_case`: its exact worst case. `costs`: a search for costs.
"""
