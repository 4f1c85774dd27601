package mcp

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func FuzzUnmarshalCallToolResult(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"a\n\ud83d"}],"structuredContent":null,"isError":false,"x":1}`,
		`{"content":[{"text":"a","type":"text"},{"type":"video"},{"type":"resource","resource":{"uri":"a:b","blob":"aGk="}}]}`,
		`{"structuredContent":[1.0],"_meta":{},"resultType":"complete"}`,
		`{"content":[{"typ\u0065":"image","data":"","mimeType":"","annotations":{"priority":1e-3}}]}`,
		`{"content":null}`, `{`, "{\"content\":[{\"type\":\"te\xffxt\"}]}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzRoundTrip(t, data, func() object { return &CallToolResult{} })
	})
}

func FuzzUnmarshalListToolsResult(f *testing.F) {
	for _, s := range []string{
		`{"tools":[{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"nextCursor":""}`,
		`{"tools":null,"ttlMs":1e3,"cacheScope":"public","x":{}}`,
		`{"tools":[{"name":"","icons":[{"src":"a","sizes":["1x1"]}],"execution":{"taskSupport":"optional"},"x":1}]}`,
		`{"tools":[{"name":"a","name":"b"}]}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzRoundTrip(t, data, func() object { return &ListToolsResult{} })
	})
}

// fuzzRoundTrip checks for any bytes: no panic; only JSON is accepted; it is written as
// valid JSON; and reading and writing that again does not change it.
func fuzzRoundTrip(t *testing.T, data []byte, fresh func() object) {
	before := bytes.Clone(data)
	v := fresh()
	err := Unmarshal(data, v)
	if !bytes.Equal(before, data) {
		t.Fatal("the input was changed")
	}
	if err != nil {
		return
	}
	if !json.Valid(before) {
		t.Fatalf("took what is not JSON: %q", before)
	}
	first, err := Marshal(v)
	if err != nil {
		t.Fatalf("cannot write what was read: %v: %q", err, before)
	}
	if !jsontext.Value(first).IsValid(jsontext.AllowInvalidUTF8(true)) {
		t.Fatalf("wrote what is not JSON: %q", first)
	}
	again := fresh()
	if err := Unmarshal(bytes.Clone(first), again); err != nil {
		t.Fatalf("cannot read what was written: %v: %q", err, first)
	}
	second, err := Marshal(again)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%v: first %q then %q", err, first, second)
	}
}
