package mcperrors

// Code is an application code: E and three digits, the first of which is the
// category. What each means is in [Catalogue].
type Code string

// The codes. E201 to E205, E302 and E303 are the seed's (GEO-1.5a-005); E206 to
// E209 extend it; the others belong to the applications around it.
const (
	E001 Code = "E001" // file too large
	E002 Code = "E002" // file type not supported
	E003 Code = "E003" // file cannot be read
	E004 Code = "E004" // file is corrupted
	E005 Code = "E005" // storage unavailable

	E101 Code = "E101" // URL is not valid
	E102 Code = "E102" // URL cannot be reached
	E103 Code = "E103" // URL took too long
	E104 Code = "E104" // URL is blocked

	E201 Code = "E201" // service unavailable; every unknown error
	E202 Code = "E202" // timeout
	E203 Code = "E203" // invalid request or parameters, undecodable answer
	E204 Code = "E204" // no such tool or method
	E205 Code = "E205" // a required capability is missing
	E206 Code = "E206" // no such resource
	E207 Code = "E207" // state conflict
	E208 Code = "E208" // permission denied
	E209 Code = "E209" // revision, header or capability the two ends do not share

	E301 Code = "E301" // processing timeout
	E302 Code = "E302" // document conversion failed
	E303 Code = "E303" // export generation failed
	E304 Code = "E304" // partial failure

	E401 Code = "E401" // database cannot be reached or is locked
	E402 Code = "E402" // database query timeout
	E403 Code = "E403" // database write failed

	E501 Code = "E501" // session expired
	E502 Code = "E502" // session not valid

	E601 Code = "E601" // rate limit exceeded
)
