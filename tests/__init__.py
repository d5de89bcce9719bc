"""The tests. This file makes them a package that comes before packages of the same name elsewhere."""
