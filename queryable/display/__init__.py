"""What people see of an interaction; all of it is a function of the view."""
