package toolcache_test

import (
	"context"
	"fmt"

	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

func Example() {
	fetch := func(context.Context) (toolcache.Listing, error) {
		fmt.Println("asking the server")
		return toolcache.Listing{Tools: []mcp.Tool{{Name: "convert_pdf", Title: "Convert a PDF"}}}, nil
	}
	cache, err := toolcache.New(toolcache.Settings{})
	if err != nil {
		panic(err)
	}
	key := toolcache.Key{Server: "https://docling.example/mcp"}
	for range 2 {
		tool, err := cache.Get(context.Background(), key, "convert_pdf", fetch)
		if err != nil {
			panic(err)
		}
		fmt.Println(tool.Title)
	}
	// Output:
	// asking the server
	// Convert a PDF
	// Convert a PDF
}
