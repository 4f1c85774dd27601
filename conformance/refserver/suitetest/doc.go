// Package suitetest has tests alone: the conformance suite judges the reference
// server.
package suitetest
