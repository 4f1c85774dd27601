// Package server is Mainstay's reference MCP server, on the official go-sdk's server. It
// tests clients and measures our own conformance suite. It has the official suite's
// fixtures and skills; package families adds five families of tools. The program is
// cmd/refserver. In a test the server runs inside the process:
//
//	srv, err := server.New(server.Options{})
//	if err != nil {
//		return err
//	}
//	defer srv.Close()
//	err = srv.ServeStdio(ctx, in, out) // or http.Handler: srv.Handler()
//
// All tools are served at [Path], those of one family below it. Tools come in
// families ([family.Family]), each with an error profile that is
// announced under capabilities.experimental.errorProfiles and stamped on every
// error as data.profile. What go-sdk does not do on the wire is package front.
package server
