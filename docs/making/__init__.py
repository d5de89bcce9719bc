"""How the site is made: code blocks are run, and what they print and draw is put beside them."""
