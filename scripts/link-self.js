// Lets examples/ import the package by its name: node_modules/resource-kit leads back to this folder.
import { lstatSync, symlinkSync } from 'node:fs'

const link = new URL('../node_modules/resource-kit', import.meta.url)
if (!lstatSync(link, { throwIfNoEntry: false })) symlinkSync('..', link, 'junction')
