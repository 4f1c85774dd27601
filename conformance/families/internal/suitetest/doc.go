// Package suitetest has the tests of the suite: every check before servers that break
// what it is about, and before servers that do not.
package suitetest
