// Ferry line as an MCP server, written with the official Go SDK.
//
// Without arguments it speaks stdio; with -http ADDR it serves streamable HTTP.
// DEFECT=name in the environment switches one mistake on.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var defect = os.Getenv("DEFECT")

// on reports whether the named mistake is switched on.
func on(name string) bool { return defect == name }

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address")
	flag.Parse()

	server := newServer()
	if *addr == "" {
		if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Printf("session ended: %v", err)
		}
		if on("stays-after-eof") {
			// Wait for the worker that writes the departure board, which never ends.
			select {}
		}
		return
	}

	get := func(*http.Request) *mcp.Server { return server }
	sessions := mcp.NewStreamableHTTPHandler(get, nil)
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true,
	})
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Revisions from 2026-07-28 on have no sessions.
		if r.Header.Get("MCP-Protocol-Version") >= "2026-07-28" {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	if on("get-stream-timeout") {
		// No request may hold a worker for longer than this.
		plain := h
		limited := http.TimeoutHandler(h, 1500*time.Millisecond, "timed out")
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				limited.ServeHTTP(w, r)
				return
			}
			plain.ServeHTTP(w, r)
		})
	}
	h = localOrigins(h)
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.Handle("/{$}", h)
	log.Fatal(http.ListenAndServe(*addr, mux))
}

// localOrigins refuses requests of web pages that are not served by this machine.
func localOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o := r.Header.Get("Origin"); o != "" {
			u, err := url.Parse(o)
			if err != nil || !loopback(u.Hostname()) {
				http.Error(w, "origin not allowed", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
