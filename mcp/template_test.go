package mcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// The examples of RFC 6570, section 3.2, with text values.
func TestResourceTemplateExpand(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"var": "value", "hello": "Hello World!", "half": "50%", "who": "fred", "base": "http://example.com/home/",
		"path": "/foo/bar", "v": "6", "x": "1024", "y": "768", "empty": "", "dub": "me/too", "dom": "example.com",
		"up": "..", "deep": "a/../../b", "here": ".", "cjk": "日本", "dots": "...", "escaped": "%2e%2e/",
	}
	for _, tt := range []struct{ template, want string }{
		{"{var}", "value"},
		{"{hello}", "Hello%20World%21"},
		{"{half}", "50%25"},
		{"O{empty}X", "OX"},
		{"O{undef}X", "OX"},
		{"{x,y}", "1024,768"},
		{"{x,hello,y}", "1024,Hello%20World%21,768"},
		{"?{x,empty}", "?1024,"},
		{"?{x,undef}", "?1024"},
		{"{var:3}", "val"},
		{"{var:30}", "value"},
		{"{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"},
		{"{+var}", "value"},
		{"{+hello}", "Hello%20World!"},
		{"{+half}", "50%25"},
		{"{+base}index", "http://example.com/home/index"},
		{"{+path}/here", "/foo/bar/here"},
		{"here?ref={+path}", "here?ref=/foo/bar"},
		{"up{+path}{var}/here", "up/foo/barvalue/here"},
		{"{+x,hello,y}", "1024,Hello%20World!,768"},
		{"{+path,x}/here", "/foo/bar,1024/here"},
		{"{+path:6}/here", "/foo/b/here"},
		{"{#var}", "#value"},
		{"{#hello}", "#Hello%20World!"},
		{"foo{#empty}", "foo#"},
		{"foo{#undef}", "foo"},
		{"{#path,x}/here", "#/foo/bar,1024/here"},
		{"{.who}", ".fred"},
		{"{.who,who}", ".fred.fred"},
		{"www{.dom}", "www.example.com"},
		{"X{.empty}", "X."},
		{"X{.var:3}", "X.val"},
		{"{/who}", "/fred"},
		{"{/half,who}", "/50%25/fred"},
		{"{/who,dub}", "/fred/me%2Ftoo"},
		{"{/var,empty}", "/value/"},
		{"{/var:1,var}", "/v/value"},
		{"{;who}", ";who=fred"},
		{"{;half}", ";half=50%25"},
		{"{;empty}", ";empty"},
		{"{;v,empty,who}", ";v=6;empty;who=fred"},
		{"{;x,y,undef}", ";x=1024;y=768"},
		{"{?who}", "?who=fred"},
		{"{?x,y,empty}", "?x=1024&y=768&empty="},
		{"{?x,y,undef}", "?x=1024&y=768"},
		{"{?var:3}", "?var=val"},
		{"?fixed=yes{&x}", "?fixed=yes&x=1024"},
		{"{&x,y,empty}", "&x=1024&y=768&empty="},
		{"{path*}", "%2Ffoo%2Fbar"},
		{"{cjk}", "%E6%97%A5%E6%9C%AC"},
		{"{cjk:1}", "%E6%97%A5"},
		{"", ""},
		{"plain:/日", "plain:/%E6%97%A5"},
		// No path tricks.
		{"file:///{up}/x", "file:///%2E%2E/x"},
		{"file:///{+up}/x", "file:///%2E%2E/x"},
		{"file:///{+deep}", "file:///a/%2E%2E/%2E%2E/b"},
		{"file:///{deep}", "file:///a%2F%2E%2E%2F%2E%2E%2Fb"},
		{"f{/here,up}", "f/%2E/%2E%2E"},
		{"{dots}", "..."},
		{"{escaped}", "%252e%252e%2F"},
	} {
		v := mcp.ResourceTemplate{URITemplate: tt.template}
		got, err := v.Expand(named(tt.template, values))
		require.NoError(t, err, tt.template)
		require.Equal(t, tt.want, got, tt.template)
	}
}

// named keeps the values whose names are somewhere in a template.
func named(template string, values map[string]string) map[string]string {
	v := mcp.ResourceTemplate{URITemplate: template}
	kept := map[string]string{}
	for name, value := range values {
		if _, err := v.Expand(map[string]string{name: value}); err == nil {
			kept[name] = value
		}
	}
	return kept
}

func TestResourceTemplateExpandRefuses(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"{x": "opening brace without", "x}": "closing brace without", "{x{y}}": "is not a variable", "{}": "is not a variable", "{a b}": "is not a variable",
		"{!x}": "is not a variable", "{x:}": "prefix", "{x:0}": "prefix", "{x:10000}": "prefix", "{x:1a}": "prefix", "{.}": "is not a variable",
	} {
		_, err := (&mcp.ResourceTemplate{URITemplate: template}).Expand(map[string]string{"x": "1"})
		require.ErrorContains(t, err, want, template)
	}
	_, err := (&mcp.ResourceTemplate{URITemplate: "a{x}"}).Expand(map[string]string{"X": "1"})
	require.ErrorContains(t, err, `no variable "X"`)
}
