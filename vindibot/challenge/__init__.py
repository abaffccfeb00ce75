"""Games by hand: a person moves a hero on a page, and bots play against this hero."""
