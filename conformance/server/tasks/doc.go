// Package tasks runs calls of tools as tasks, which clients poll: the extension
// io.modelcontextprotocol/tasks (SEP-2663), which go-sdk 1.8.0 does not have. The
// extension exists in the stateless era only.
//
// The server decides which call becomes a task, and only for a client that
// declares the extension with the call. A [Store] keeps the tasks:
//
//   - a task is on the disk before its client hears of it, and its outcome stays
//     there until the task expires. A task that a stop of the server cuts off has
//     failed after the next start;
//   - a task is known to the user that made it, and to nobody else. Without
//     authorization its id is the secret: 130 random bits;
//   - their number is bounded, for each user and in total.
package tasks
