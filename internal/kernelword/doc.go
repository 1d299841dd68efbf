// Package kernelword holds the words that package classify says of kernels:
// categories, roles, kinds of exchange. They are words of documents and of rule
// files, which importers write out; the packages of this module compare with them
// in many places and take them from here. The constants have no type, so that
// they are values of classify's types and classify can take them, too.
package kernelword
