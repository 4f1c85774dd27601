// Package reference runs reference servers for the tests of packages that do not
// take the reference server's modules into theirs: a program hosts them, started
// with `go run` once in a test process. A [Server] has the methods that tests use of
// the server itself.
package reference
