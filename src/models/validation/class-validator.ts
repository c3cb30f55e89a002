import type * as ClassValidator from 'class-validator'
import { require } from '../../common/lazy.js'

// The main module of class-validator also loads all of its rules with the packages validator and
// libphonenumber-js. They take longer to load than the framework. An application that uses one of them
// imports class-validator itself, and thereby shares these modules.
const { getFromContainer }: typeof ClassValidator = require('class-validator/cjs/container.js')
const { Validator }: typeof ClassValidator = require('class-validator/cjs/validation/Validator.js')

/** class-validator's storage of the rules of all classes, and the function that makes decorators. */
export const {
  getMetadataStorage,
}: typeof ClassValidator = require('class-validator/cjs/metadata/MetadataStorage.js')
export const {
  ValidateBy,
}: typeof ClassValidator = require('class-validator/cjs/decorator/common/ValidateBy.js')

/** Returns the rules that an object breaks, as class-validator's function `validate` does. */
export function brokenRules(
  object: object,
  options: ClassValidator.ValidatorOptions,
): Promise<ClassValidator.ValidationError[]> {
  return getFromContainer(Validator).validate(object, options)
}
