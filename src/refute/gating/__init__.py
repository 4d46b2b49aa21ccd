"""Is a change that claims to be done shown to be: red before, green now, nothing broken?"""
