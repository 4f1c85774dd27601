// Package reference runs reference servers for tests of packages whose modules must not depend on
// the reference server's. A program hosts the servers; `go run` starts it once per test process.
// A [Server] has the methods of the server that tests use.
package reference
