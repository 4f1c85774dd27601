package mcperrors

import "slices"

const actionRetry = "Try again"

// Entry describes a code.
type Entry struct {
	// Code is the code that the entry describes.
	Code Code
	// Category is the range of the code, such as "E2xx".
	Category string
	// UserMessage is a text that an end user may see. The error of a call may have
	// a more specific one.
	UserMessage string
	// SuggestedAction is what an end user can do.
	SuggestedAction string
	// Retryable reports whether a later attempt may succeed.
	Retryable bool
}

// Category is a range of codes.
type Category struct {
	// Range is the letter E, a digit and "xx", such as "E2xx".
	Range string
	// Name is a short title. Description is the subject of the codes.
	Name, Description string
}

// Catalogue returns the entries of all codes, sorted by code. The caller owns
// the slice.
func Catalogue() []Entry { return slices.Clone(catalogue[:]) }

// Categories returns the ranges of codes in order. The caller owns the slice.
func Categories() []Category { return slices.Clone(categories[:]) }

// Lookup returns the entry of a code. It returns false if the code is unknown.
func Lookup(c Code) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(catalogue[:], c, func(e Entry, c Code) int {
		switch {
		case e.Code < c:
			return -1
		case e.Code > c:
			return 1
		}
		return 0
	})
	if !ok {
		return Entry{}, false
	}
	return catalogue[i], true
}

var categories = [...]Category{
	{"E0xx", "File Errors", "File validation errors"},
	{"E1xx", "URL Errors", "URL validation errors"},
	{"E2xx", "MCP Errors", "MCP communication errors"},
	{"E3xx", "Processing Errors", "Document processing errors"},
	{"E4xx", "Database Errors", "Database operation errors"},
	{"E5xx", "Session Errors", "Session errors"},
	{"E6xx", "Rate Errors", "Rate limit errors"},
}

// catalogue is sorted by code.
var catalogue = [...]Entry{
	{CodeFileTooLarge, "E0xx", "File is too large", "Choose a smaller file", false},
	{CodeFileUnsupported, "E0xx", "File type is not supported", "Choose a supported file type", false},
	{CodeFileUnreadable, "E0xx", "File could not be read", actionRetry, true},
	{CodeFileCorrupted, "E0xx", "File is corrupted", "Check the file and repair it", false},
	{CodeStorageUnavailable, "E0xx", "Storage unavailable", actionRetry, true},

	{CodeURLInvalid, "E1xx", "Address is not valid", "Check the address", false},
	{CodeURLUnreachable, "E1xx", "Address cannot be reached", actionRetry, true},
	{CodeURLTimeout, "E1xx", "Address took too long to answer", actionRetry, true},
	{CodeURLBlocked, "E1xx", "Address is not allowed", "Choose another address", false},

	{CodeUnavailable, "E2xx", "The server is unavailable", actionRetry, true},
	{CodeTimeout, "E2xx", "No answer in time", actionRetry, true},
	{CodeInvalidRequest, "E2xx", "Invalid request or answer", "Check the request", false},
	{CodeToolNotFound, "E2xx", "The server does not have this tool or method", "Check the name", false},
	{CodeMissingCapability, "E2xx", "The server lacks a required capability", "Use another server or version", false},
	{CodeResourceNotFound, "E2xx", "Resource not found", "Check the name", false},
	{CodeConflict, "E2xx", "State conflict", "Check the current state", false},
	{CodePermissionDenied, "E2xx", "Permission denied", "Ask for access", false},
	{CodeIncompatible, "E2xx", "Server and client are incompatible", "Update the server or the client", false},

	{CodeProcessingTimeout, "E3xx", "Processing timeout", actionRetry, true},
	{CodeConversionFailed, "E3xx", "Document conversion failed", actionRetry, true},
	{CodeExportFailed, "E3xx", "Export generation failed", actionRetry, true},
	{CodePartialFailure, "E3xx", "Only a part was processed", "Check what is missing", false},

	{CodeDatabaseUnavailable, "E4xx", "Database unavailable", actionRetry, true},
	{CodeDatabaseTimeout, "E4xx", "Database query timeout", actionRetry, true},
	{CodeDatabaseWriteFailed, "E4xx", "Database write failed", actionRetry, true},

	{CodeSessionExpired, "E5xx", "Session expired", "Start again", false},
	{CodeSessionInvalid, "E5xx", "Session not valid", "Start again", false},

	{CodeRateLimited, "E6xx", "Rate limit exceeded", "Try again later", true},
}
