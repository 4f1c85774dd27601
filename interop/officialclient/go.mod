module github.com/mainstay-mcp/mainstay/interop/officialclient

go 1.26.0

require (
	github.com/mainstay-mcp/mainstay v0.0.0
	github.com/mainstay-mcp/mainstay/auth v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace (
	github.com/mainstay-mcp/mainstay => ../..
	github.com/mainstay-mcp/mainstay/auth => ../../auth
)
