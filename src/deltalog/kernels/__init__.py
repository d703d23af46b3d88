"""Functions over arrays and addresses, interpreted or compiled. They know nothing of Datalog."""
