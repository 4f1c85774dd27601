package mcperrors

// Code is an application code: the letter E and three digits. The first digit is
// the category. [Catalogue] has the texts of every code.
type Code string

// Codes for files. A client returns one only if its [Profile] does.
const (
	CodeFileTooLarge       Code = "E001" // the file is too large
	CodeFileUnsupported    Code = "E002" // the file type is not supported
	CodeFileUnreadable     Code = "E003" // the file cannot be read
	CodeFileCorrupted      Code = "E004" // the file is corrupted
	CodeStorageUnavailable Code = "E005" // the storage is unavailable
)

// Codes for URLs that an application accepts. A client returns one only if its
// [Profile] does.
const (
	CodeURLInvalid     Code = "E101" // the URL is not valid
	CodeURLUnreachable Code = "E102" // the URL cannot be reached
	CodeURLTimeout     Code = "E103" // the URL took too long to answer
	CodeURLBlocked     Code = "E104" // the URL is not allowed
)

// Codes for the communication with an MCP server.
const (
	CodeUnavailable       Code = "E201" // the server is unavailable, or the error is unknown
	CodeTimeout           Code = "E202" // a deadline or a timeout passed
	CodeInvalidRequest    Code = "E203" // the request or its parameters are invalid, or the answer cannot be decoded
	CodeToolNotFound      Code = "E204" // the server does not have the tool or the method
	CodeMissingCapability Code = "E205" // the server lacks a required capability
	CodeResourceNotFound  Code = "E206" // the server does not have the resource
	CodeConflict          Code = "E207" // the state of the server does not allow the call; only with a [Profile]
	CodePermissionDenied  Code = "E208" // the server denies access
	CodeIncompatible      Code = "E209" // client and server do not share a revision, a header or a capability
)

// Codes for the processing of documents. A client returns one only if its [Profile] does.
const (
	CodeProcessingTimeout Code = "E301" // processing took too long
	CodeConversionFailed  Code = "E302" // a document could not be converted
	CodeExportFailed      Code = "E303" // an export could not be generated
	CodePartialFailure    Code = "E304" // only a part was processed
)

// Codes for the database of a server. A client returns one only if its [Profile] does.
const (
	CodeDatabaseUnavailable Code = "E401" // the database cannot be reached, or is locked
	CodeDatabaseTimeout     Code = "E402" // a query took too long
	CodeDatabaseWriteFailed Code = "E403" // a write failed
)

// Codes for sessions. An MCP session that is lost has [CodeSessionExpired]. A client
// returns [CodeSessionInvalid] only if its [Profile] does.
const (
	CodeSessionExpired Code = "E501" // the session has expired
	CodeSessionInvalid Code = "E502" // the session is not valid
)

// CodeRateLimited reports that the server limits the rate of calls.
const CodeRateLimited Code = "E601"
