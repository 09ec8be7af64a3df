"""Rules about one object as policies that the API server runs, from one table of what each word is of the object."""
