// Package report renders what a run of the conformance suite found. One run
// makes one [conformance.Report]; every format here is a rendering of it, so
// they cannot disagree:
//
//	report.Text(os.Stdout, r, report.TextOptions{})
//	report.JSON(file, r)
//
// Text of the judged server is made harmless for the place it is shown in. The
// functions are safe for concurrent use on one report, which they do not change.
package report

import _ "embed" // the published schemas

// Schema is the JSON Schema of what [JSON] and [Matrix] write.
//
//go:embed conform.schema.json
var Schema []byte

// JUnitSchema is the XML Schema of what [JUnit] writes.
//
//go:embed junit.xsd
var JUnitSchema []byte
