// Package refserver is Mainstay's reference MCP server: real tools on the
// official go-sdk's server, to test clients against and to measure our own
// conformance suite with. The program is cmd/refserver; in a test the server
// runs inside the process:
//
//	srv, err := refserver.New(refserver.Options{})
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
package refserver
