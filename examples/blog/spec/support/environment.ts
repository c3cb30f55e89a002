// Specs have a database of their own. Import this before anything that reads the environment.
process.env.GO_ENV = 'test'
