// Package store is what the reference server keeps: the task queue and the id
// registry of S0 (tools.md §2.9, §2.10) and the files the assistant of S4 has
// generated (§6.1).
//
// The package holds the interfaces, their types and the rules both back ends
// obey; [github.com/mainstay-mcp/mainstay/conformance/families/store/sqlite] and
// [github.com/mainstay-mcp/mainstay/conformance/families/store/postgres] hold
// the SQL, store/backend chooses between them, and store/storetest is the suite
// both pass (§9.3).
//
// Whatever depends on the time takes the instant as an argument, so that
// fifteen minutes pass in a test without waiting (decisions 7). Instants are
// kept in UTC, to the microsecond, which is what both back ends can hold.
package store
