package web

import _ "embed"

// document describes the API (OpenAPI 3.1). It is generated from the route table and the types of
// the bodies; a test fails when it is stale.
//
//go:generate go test -count=1 -run ^TestOpenAPI_IsCurrent$ . -update
//go:embed openapi.json
var document []byte
