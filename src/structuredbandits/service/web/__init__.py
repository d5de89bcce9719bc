"""The pages that a browser gets: the console and the lab, as plain files without a build step.

They talk to the service only through its public HTTP interface. This room must not know storage,
policies or how anything is computed.
"""
