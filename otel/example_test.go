package mcpotel_test

import (
	"fmt"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcpotel "github.com/mainstay-mcp/mainstay/otel"
)

func ExampleNew() {
	_ = func(t *testing.T) { // of a program that is to have spans
		spans := tracetest.NewSpanRecorder()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
		telemetry, err := mcpotel.New(mcpotel.Settings{TracerProvider: tracer})
		if err != nil {
			t.Fatal(err)
		}
		srv := clienttest.NewServer(t)
		srv.Tool("greet", "", func(*clienttest.Call) (any, error) { return clienttest.Text("hello"), nil })
		c, err := client.Connect(t.Context(), srv.Transport(), telemetry.Options()...)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.CallTool(t.Context(), "greet", nil); err != nil {
			t.Fatal(err)
		}
		fmt.Println(spans.Ended()[0].Name()) // tools/call greet
	}
}
