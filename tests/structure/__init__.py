"""The structure of the code, held: which room imports which, who writes the machine record, what the maps say."""
