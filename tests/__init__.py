"""The tests, as a package that comes before packages of the same name elsewhere."""
