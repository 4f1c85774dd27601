// Package flock locks files between processes. The system releases a lock when its
// process ends, however it ends.
package flock
