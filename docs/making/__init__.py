"""Build the site: run the code blocks of the pages and insert their output and pictures."""
