"""The structure of the code, held: which package imports which, who writes the machine record, what the maps say."""
