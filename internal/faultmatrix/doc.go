// Package faultmatrix holds no code: its tests put our client behind every
// fault that conformance/faults makes, in both eras and over both kinds of
// transport, in virtual time, and write what became of the calls into the table
// of docs/generated/faults.md.
package faultmatrix
