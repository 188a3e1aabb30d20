package app

import "net/http"

// Client returns an HTTP client for the API of this process without a socket; its requests need
// the token like any other.
func (d *App) Client() *http.Client { return d.web.Client() }
