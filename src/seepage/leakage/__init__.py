"""How much a released attribute tells about a secret one."""
