// Every Node.js process of the specs loads this. Most of them end before optimized code pays off: with this budget (132 KiB of
// executed bytecode by default), V8 optimizes a seventh as often, and the suite takes a fifth less CPU time. Later versions of
// Node.js have no such flag, and print an error about it.
import v8 = require('node:v8')

if (process.version.startsWith('v20.')) v8.setFlagsFromString('--interrupt-budget=1000000')
