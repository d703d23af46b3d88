"""Rules to plans: the algebra, join orders, and what a person sees of them."""
