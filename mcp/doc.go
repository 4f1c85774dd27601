// Package mcp is the vocabulary of the Model Context Protocol: the types of
// every published revision, from 2024-11-05 to 2026-07-28, and their exact
// coding. It does no input or output, and knows nothing of sessions or
// transports.
//
//	var page mcp.ListToolsResult
//	if err := mcp.Unmarshal(result, &page); err != nil {
//		return err
//	}
//	for i := range page.Tools {
//		fmt.Println(page.Tools[i].DisplayName())
//	}
//
// The types to know are [Tool], [CallToolResult] and [Content] (what tools
// are and answer), [ServerCapabilities] (what a server offers), and [Version]
// (which revision is spoken, and of which [Era]).
//
// One type serves all revisions. A member that a revision does not have is absent
// there; its comment names the revisions. Names follow the schemas: XParams is the
// schema's XRequestParams or XNotificationParams.
//
// Decoding is strict in form and lenient in content. Names match exactly,
// duplicate members are refused, integers stay exact, and a wrong type is a
// [*DecodeError] with the member's path. Unknown members are kept in the Extra
// field of the value they came with and written back with it; unknown types of
// content arrive as [*RawContent]. Schemas, arguments, structured content and
// _meta stay raw, exactly as received. An optional member that is null is
// taken as absent, and so is a null list.
//
// Values may be read from several goroutines at once; nothing here locks.
package mcp
