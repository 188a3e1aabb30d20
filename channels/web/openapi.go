package web

import (
	_ "embed"
	"net/http"
	"time"
)

// document describes the API (OpenAPI 3.1). A test keeps it true.
//
//go:embed openapi.json
var document []byte

func (s *Server) serveOpenAPI(w http.ResponseWriter, _ *http.Request, _ authMethod) error {
	w.Header().Set("Content-Type", "application/json")
	writeBy(w, time.Now().Add(writeTime))
	_, _ = w.Write(document)
	return nil
}
