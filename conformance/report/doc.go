// Package report writes a [conformance.Report] in several formats, which cannot disagree:
//
//	report.Text(os.Stdout, r, report.TextOptions{})
//	report.JSON(file, r)
//
// Text of the server is escaped for each format. The functions do not change the report and
// are safe for concurrent use.
package report

import _ "embed" // the published schemas

// Schema is the JSON Schema of the output of [JSON] and [Matrix].
//
//go:embed conform.schema.json
var Schema []byte

// JUnitSchema is the XML Schema of the output of [JUnit].
//
//go:embed junit.xsd
var JUnitSchema []byte
