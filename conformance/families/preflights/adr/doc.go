// Package adr holds architecture decision records: their identity, the
// snapshot of the architecture each of them carries, and their text (tools.md
// §5.1). It reads and writes no files.
package adr
