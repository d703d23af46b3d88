"""The session of a user: facts, rules, and everything that follows from them."""
