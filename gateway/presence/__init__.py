"""Whether people are there: counted on the event streams they hold, told to those it concerns."""
