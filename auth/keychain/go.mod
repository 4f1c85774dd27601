module github.com/mainstay-mcp/mainstay/auth/keychain

go 1.26.0

require (
	github.com/mainstay-mcp/mainstay v0.0.0
	github.com/mainstay-mcp/mainstay/auth v0.0.0
	github.com/stretchr/testify v1.12.1
	github.com/zalando/go-keyring v0.2.8
)

require (
	github.com/danieljoos/wincred v1.2.3 // indirect
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/godbus/dbus/v5 v5.2.2 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.27.0 // indirect
)

replace github.com/mainstay-mcp/mainstay => ../..

replace github.com/mainstay-mcp/mainstay/auth => ..
