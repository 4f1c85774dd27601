// Package suitetest has tests alone: the conformance suite judges the reference
// server, and parsers that the root module does not take read the suite's reports.
package suitetest
